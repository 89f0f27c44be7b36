import asyncio, json, os

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['HOLDPOINT_TOKEN']}"}
    told = {"client": "fastmcp", "answer": None, "thrown": None}
    async with Client(StreamableHttpTransport(os.environ["HOLDPOINT_URL"], headers=headers)) as client:
        try:
            await client.list_tools()
            arguments = json.loads(os.environ["HOLDPOINT_ARGUMENTS"])
            answer = await client.call_tool(os.environ["HOLDPOINT_TOOL"], arguments)
            told["answer"] = {
                "content": [getattr(block, "text", "") for block in answer.content],
                "structuredContent": answer.structured_content,
                "isError": answer.is_error,
            }
        except Exception as error:
            told["thrown"] = str(error)
    print("told " + json.dumps(told))


asyncio.run(main())
