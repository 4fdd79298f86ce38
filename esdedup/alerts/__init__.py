"""Notifications: what is worth reporting, where it is sent, and what was reported already."""
