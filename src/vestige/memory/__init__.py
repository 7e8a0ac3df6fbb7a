"""The reference memory pipeline: write, summarise, retrieve, forget, over one SQLite file.

Source: "Deployment-Time Memorization in Foundation-Model Agents" (arXiv 2606.10062), sections 2.1 and 2.4.
"""
