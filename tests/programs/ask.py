"""A program that asks a model twice, as an agent would: its endpoint and key come from the environment."""

import sys
from typing import Any

import openai

client = openai.OpenAI(max_retries=0)
messages: list[Any] = [{"role": "user", "content": " ".join(sys.argv[1:]) or "hi"}]
try:
    with client.chat.completions.create(model="m", messages=messages, stream=True) as stream:
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "and then?"}]
    last = client.chat.completions.create(model="m", messages=messages).choices[0].message.content
except openai.OpenAIError as error:
    sys.stderr.write(f"no answer: {error}\n")
    raise SystemExit(3) from None
sys.stdout.write(f"{text} {last}\n")
