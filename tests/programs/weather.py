"""The smallest agent there is: one tool, one question, and a loop's worth of nothing else."""

import json
import sys
from typing import Any

from openai import OpenAI


def get_weather(city: str) -> dict[str, Any]:
    return {"temp_c": 31, "sky": "humid", "city": city}


city_only = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools: Any = [
    {
        "type": "function",
        "function": {
            "name": get_weather.__name__,
            "description": "Get the current weather for a city",
            "parameters": city_only,
        },
    }
]
messages: list[Any] = [{"role": "user", "content": "What is the weather in Dhaka?"}]

with OpenAI(api_key="none", base_url=sys.argv[1]) as client:
    message = client.chat.completions.create(model="claude-opus-4.8", messages=messages, tools=tools).choices[0].message
    if message.tool_calls:
        messages.append(message)
        for asked in message.tool_calls:
            assert asked.type == "function"
            weather = get_weather(**json.loads(asked.function.arguments))
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": json.dumps(weather)})
        closing = client.chat.completions.create(model="claude-opus-4.8", messages=messages, tools=tools)
        message = closing.choices[0].message

print(message.content)  # noqa: T201  what the program is for
