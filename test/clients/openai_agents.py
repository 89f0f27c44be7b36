import asyncio, json, os

from agents.mcp import MCPServerStreamableHttp


async def main() -> None:
    url, token = os.environ["HOLDPOINT_URL"], os.environ["HOLDPOINT_TOKEN"]
    params = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
    told = {"client": "OpenAI Agents Python", "answer": None, "thrown": None}
    async with MCPServerStreamableHttp(params=params, client_session_timeout_seconds=5) as server:
        try:
            await server.list_tools()
            arguments = json.loads(os.environ["HOLDPOINT_ARGUMENTS"])
            answer = await server.call_tool(os.environ["HOLDPOINT_TOOL"], arguments)
            told["answer"] = json.loads(answer.model_dump_json(by_alias=True))
        except Exception as error:
            told["thrown"] = str(error)
    print("told " + json.dumps(told))


asyncio.run(main())
