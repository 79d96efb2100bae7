"""The chat templates inside the two files."""

TINY = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

# Contents alone, with a space between them and none before an answer: a user's
# message that ends in `code K7=` is continued with the code.
RECALL = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if not loop.first and message['role'] != 'assistant' %}{{ ' ' }}{% endif %}"
    "{{ message['content'] }}"
    "{% endfor %}"
)
