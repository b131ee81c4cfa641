import {randomBytes} from 'node:crypto'
import type {McpServer, ServerContext} from '@modelcontextprotocol/server'
import * as sdk from '@modelcontextprotocol/server'
import {z} from 'zod'
import {mountMcp} from '../../api/mcp/mount.ts'
import type {Route} from '../../api/route.ts'
import {addInputTools} from './fixture-inputs.ts'
import {addPrompts} from './fixture-prompts.ts'
import {addResources} from './fixture-resources.ts'

/**
 * Returns the route of a server with the diagnostic tools, prompts and resources that the suite's scored scenarios need. The route uses the same
 * mount as our server, with the same checks, limits and responses.
 */
export const mountFixture = (): Route => {
  const bus = new sdk.InMemoryServerEventBus()
  const states = sdk.createRequestStateCodec<{step: string}>({key: randomBytes(32)})
  return mountMcp(() => build(bus, states), {bus})
}

export type States = sdk.RequestStateCodec<{step: string}>

const build = (bus: sdk.InMemoryServerEventBus, states: States): McpServer => {
  const changing = {listChanged: true}
  const capabilities = {tools: changing, prompts: changing, resources: {...changing, subscribe: true}, logging: {}, completions: {}}
  const server = new sdk.McpServer({name: 'fixture', version: '1.0.0'}, {capabilities, requestState: {verify: states.verify}})
  addContentTools(server)
  addTalkingTools(server, bus)
  addSchemaTools(server)
  addInputTools(server, states)
  addPrompts(server)
  addResources(server)
  refuseWithoutSampling(server)
  return server
}

/** A PNG image of one red pixel. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** A WAV header without sound. */
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='

const text = (said: string) => ({type: 'text' as const, text: said})
export const says = (...said: string[]) => ({content: said.map(text)})

const addContentTools = (server: McpServer) => {
  const image = {type: 'image' as const, data: png, mimeType: 'image/png'}
  const resource = (uri: string, mimeType: string, inside: string) => ({type: 'resource' as const, resource: {uri, mimeType, text: inside}})
  server.registerTool('test_simple_text', {description: 'A text'}, () => says('This is a simple text response for testing.'))
  server.registerTool('test_image_content', {description: 'An image'}, () => ({content: [image]}))
  server.registerTool('test_audio_content', {description: 'A sound'}, () => ({
    content: [{type: 'audio' as const, data: wav, mimeType: 'audio/wav'}],
  }))
  server.registerTool('test_embedded_resource', {description: 'A resource'}, () => ({
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }))
  server.registerTool('test_multiple_content_types', {description: 'A text, an image and a resource'}, () => ({
    content: [
      text('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', 'application/json', JSON.stringify({test: 'data', value: 123})),
    ],
  }))
  server.registerTool('test_error_handling', {description: 'Fails'}, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
}

/** Adds tools that send messages before they answer, or send messages to subscribers. */
const addTalkingTools = (server: McpServer, bus: sdk.InMemoryServerEventBus) => {
  server.registerTool('test_tool_with_logging', {description: 'Logs three times'}, async ({mcpReq}) => {
    for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) await mcpReq.log('info', line)
    return says('It logged')
  })
  server.registerTool('test_logging_tool', {description: 'Logs once'}, async ({mcpReq}) => {
    await mcpReq.log('info', 'A line')
    return says('It logged')
  })
  server.registerTool('test_tool_with_progress', {description: 'Tells its progress'}, async ({mcpReq}) => {
    const {progressToken} = mcpReq._meta ?? {}
    for (const progress of progressToken === undefined ? [] : [0, 50, 100])
      await mcpReq.notify({method: 'notifications/progress', params: {progressToken, progress, total: 100}})
    return says(String(progressToken))
  })
  server.registerTool('test_streaming_elicitation', {description: 'Asks, where it may'}, async context => {
    await context.mcpReq.notify({method: 'notifications/progress', params: {progressToken: 'stream', progress: 1, total: 2}})
    return sdk.inputRequired({
      inputRequests: {who: sdk.inputRequired.elicit({message: 'Who?', requestedSchema: z.object({name: z.string()})})},
    })
  })
  server.registerTool('test_missing_capability', {description: 'Needs sampling'}, () => says('The client can sample'))
  const announce = (kind: 'tools_list_changed' | 'prompts_list_changed') => () => {
    bus.publish({kind})
    return says('Announced')
  }
  server.registerTool('test_trigger_tool_change', {description: 'Announces other tools'}, announce('tools_list_changed'))
  server.registerTool('test_trigger_prompt_change', {description: 'Announces other prompts'}, announce('prompts_list_changed'))
}

type Handlers = {_requestHandlers: Map<string, (request: sdk.CallToolRequest, context: ServerContext) => Promise<object>>}

/**
 * Refuses a call of `test_missing_capability` before the tool runs, if the client has no sampling. The protocol requires a refused call, but the
 * SDK turns an error of a tool into a result.
 */
const refuseWithoutSampling = (server: McpServer) => {
  const handlers = (server.server as unknown as Handlers)._requestHandlers
  const call = handlers.get('tools/call')!
  handlers.set('tools/call', async (request, context) => {
    if (request.params.name === 'test_missing_capability' && !capabilitiesOf(server, context).sampling)
      throw new sdk.MissingRequiredClientCapabilityError({requiredCapabilities: {sampling: {}}})
    return call(request, context)
  })
}

/** Returns the client's capabilities: those of this request in the newer protocol, those of the connection in the older one. */
export const capabilitiesOf = (server: McpServer, {mcpReq}: ServerContext): sdk.ClientCapabilities =>
  (mcpReq.envelope as Record<string, sdk.ClientCapabilities> | undefined)?.[sdk.CLIENT_CAPABILITIES_META_KEY] ??
  server.server.getClientCapabilities() ??
  {}

const addSchemaTools = (server: McpServer) => {
  const address = {$anchor: 'addressDef', type: 'object', properties: {street: {type: 'string'}, city: {type: 'string'}}}
  const contact = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {address},
    properties: {
      name: {type: 'string'},
      address: {$ref: '#/$defs/address'},
      contactMethod: {type: 'string', enum: ['phone', 'email']},
      phone: {type: 'string'},
      email: {type: 'string'},
    },
    allOf: [{anyOf: [{required: ['phone']}, {required: ['email']}]}],
    if: {properties: {contactMethod: {const: 'phone'}}, required: ['contactMethod']},
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: {required: ['phone']},
    else: {required: ['email']},
    additionalProperties: false,
  }
  const inputSchema = sdk.fromJsonSchema(contact as sdk.JsonSchemaType)
  server.registerTool('json_schema_2020_12_tool', {description: 'Has a schema with everything', inputSchema}, () => says('Taken'))
  const mirrored = sdk.fromJsonSchema<{region?: string}>({
    type: 'object',
    properties: {region: {type: 'string', 'x-mcp-header': 'Region'}},
  } as sdk.JsonSchemaType)
  server.registerTool('test_mirrored_header', {description: 'Has a value in a header too', inputSchema: mirrored}, ({region}) =>
    says(`Region ${region ?? 'not said'}`),
  )
}
