// `node dual.mjs DIST`: an agent of the official TypeScript SDK's router, in versions 1 and 2. DIST is
// the folder `dist` of `@agentclientprotocol/sdk`. A turn tells a tool call, asks for permission, and
// says what was chosen.
import { Readable, Writable } from "node:stream";

const dist = process.argv[2];
const v1 = await import(`${dist}/acp.js`);
const v2 = await import(`${dist}/v2/acp.js`);

const options = [
  { optionId: "yes", name: "Do it", kind: "allow_once" },
  { optionId: "no", name: "Leave it", kind: "reject_once" },
];
const call = { toolCallId: "edit-1", title: "Change it", kind: "edit", status: "pending" };
const words = (outcome) => (outcome.outcome === "selected" ? `chose ${outcome.optionId}` : "chose nothing");
const status = (outcome) => (outcome.optionId === "yes" ? "completed" : "failed");

const update = v1.methods.client.session.update;
const older = v1
  .agent({ name: "dual-v1" })
  .onRequest(v1.methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
  .onRequest(v1.methods.agent.session.new, () => ({ sessionId: crypto.randomUUID() }))
  .onRequest(v1.methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId } = params;
    await client.notify(update, { sessionId, update: { sessionUpdate: "tool_call", ...call } });
    const asked = { sessionId, toolCall: call, options };
    const { outcome } = await client.request(v1.methods.client.session.requestPermission, asked);
    const done = { sessionUpdate: "tool_call_update", toolCallId: "edit-1", status: status(outcome) };
    await client.notify(update, { sessionId, update: done });
    const content = { type: "text", text: words(outcome) };
    await client.notify(update, { sessionId, update: { sessionUpdate: "agent_message_chunk", content } });
    return { stopReason: outcome.outcome === "cancelled" ? "cancelled" : "end_turn" };
  })
  .onNotification(v1.methods.agent.session.cancel, () => {});

const tell = (client, sessionId, told) =>
  client.notify(v2.methods.client.session.update, { sessionId, update: told });

async function turn(client, sessionId, messageId, prompt) {
  await tell(client, sessionId, { sessionUpdate: "user_message", messageId, content: prompt });
  await tell(client, sessionId, { sessionUpdate: "state_update", state: "running" });
  await tell(client, sessionId, { sessionUpdate: "tool_call_update", ...call });
  await tell(client, sessionId, { sessionUpdate: "state_update", state: "requires_action" });
  const subject = { type: "tool_call", toolCall: { toolCallId: "edit-1" } };
  const asked = { sessionId, title: "May it?", description: "It is a change.", subject, options };
  const { outcome } = await client.request(v2.methods.client.session.requestPermission, asked);
  await tell(client, sessionId, { sessionUpdate: "state_update", state: "running" });
  const done = { sessionUpdate: "tool_call_update", toolCallId: "edit-1", status: status(outcome) };
  await tell(client, sessionId, done);
  const content = [{ type: "text", text: words(outcome) }];
  const id = crypto.randomUUID();
  await tell(client, sessionId, { sessionUpdate: "agent_message", messageId: id, content });
  const stopReason = outcome.outcome === "cancelled" ? "cancelled" : "end_turn";
  await tell(client, sessionId, { sessionUpdate: "state_update", state: "idle", stopReason });
}

const newer = v2
  .agent({ name: "dual-v2" })
  .onRequest(v2.methods.agent.initialize, () => ({
    protocolVersion: 2,
    info: { name: "dual", version: "2" },
    capabilities: { session: {} },
  }))
  .onRequest(v2.methods.agent.session.new, () => ({ sessionId: crypto.randomUUID() }))
  .onRequest(v2.methods.agent.session.list, () => ({ sessions: [] }))
  .onRequest(v2.methods.agent.session.resume, () => ({}))
  .onRequest(v2.methods.agent.session.close, () => {})
  .onRequest(v2.methods.agent.session.prompt, ({ params, client }) => {
    const messageId = crypto.randomUUID();
    setTimeout(() => turn(client, params.sessionId, messageId, params.prompt), 0);
    return { messageId };
  })
  .onNotification(v2.methods.agent.session.cancel, () => {});

const stream = v1.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
v2.agentProtocolRouter().withV1(older).withV2(newer).connect(stream);
