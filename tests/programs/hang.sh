# Asks once, as fast as a program can, starts another process and never ends. Its first argument gets the other's id.
body='{"model":"m","messages":[{"role":"user","content":"hi"}]}'
address=${OPENAI_BASE_URL#http://}
address=${address%/v1}
exec 3<>"/dev/tcp/${address%:*}/${address#*:}"
printf 'POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n%s' "${#body}" "$body" >&3
head -n 1 <&3
sleep 600 &
echo $! >"$1"
sleep 600
