"""Models: what completes chats and what embeds texts, by name; `resolve` opens them."""
