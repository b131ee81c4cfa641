import {type Answer, pieces, type Question, type Schema, type Tokens} from './answers.ts'

/** A content block, and the body of a request to the messages endpoint, by Anthropic's API reference. */
type Block = {type: string; text?: string; content?: unknown; input?: unknown}
type Body = {
  model: string
  stream?: boolean
  max_tokens: number
  system?: string | Block[]
  messages: {role: string; content: string | Block[]}[]
  tools?: {name: string; input_schema: Schema}[]
  output_config?: {format?: {schema?: Schema}}
}

/** The tool that the client package uses to request structured output, if the model has no native support. */
const jsonTool = 'json'

const textOf = (content: string | Block[] | undefined): string => {
  if (content === undefined || typeof content === 'string') return content ?? ''
  return content.map(({text, content: inner}) => text ?? (inner === undefined ? '' : textOf(inner as string | Block[]))).join('')
}

export const readAnthropic = (body: Body): Question => {
  const tools = (body.tools ?? []).map(({name, input_schema: schema}) => ({name, schema}))
  return {
    wire: 'anthropic',
    model: body.model,
    stream: body.stream === true,
    system: textOf(body.system),
    maxTokens: body.max_tokens,
    messages: body.messages.map(({role, content}) => ({role, text: textOf(content)})),
    tools: tools.filter(({name}) => name !== jsonTool),
    schema: body.output_config?.format?.schema ?? tools.find(({name}) => name === jsonTool)?.schema ?? null,
  }
}

let calls = 0

/** Returns the blocks of an answer. A requested value becomes a call of the tool `json` if the request has this tool, and otherwise a text. */
const blocksOf = (asked: Body, {text, json, calls: made = []}: Answer): Block[] => {
  const byTool = asked.tools?.some(({name}) => name === jsonTool)
  const call = (name: string, input: unknown) => ({type: 'tool_use', id: `toolu_${++calls}`, name, input})
  return [
    ...(text === undefined ? [] : [{type: 'text', text}]),
    ...(json === undefined ? [] : [byTool ? call(jsonTool, json) : {type: 'text', text: JSON.stringify(json)}]),
    ...made.map(({name, input}) => call(name, input)),
  ]
}

const usageOf = (tokens: Tokens | null) => ({input_tokens: tokens?.input ?? 0, output_tokens: tokens?.output ?? 0})

export const sayAnthropic = (asked: Body, answer: Answer, tokens: Tokens | null) => {
  const content = blocksOf(asked, answer)
  return {
    id: 'msg_standin',
    type: 'message',
    role: 'assistant',
    model: asked.model,
    content,
    stop_sequence: null,
    stop_reason: stopOf(content, answer),
    usage: usageOf(tokens),
  }
}

/** `max_tokens`: the answer reached its maximum number of tokens. */
const stopOf = (content: Block[], {isCut}: Answer) =>
  isCut ? 'max_tokens' : content.some(({type}) => type === 'tool_use') ? 'tool_use' : 'end_turn'

export const streamAnthropic = (asked: Body, answer: Answer, tokens: Tokens | null): string[] => {
  const content = blocksOf(asked, answer)
  const message = {...sayAnthropic(asked, {}, tokens && {...tokens, output: 0}), stop_reason: null}
  return [
    event('message_start', {message}),
    ...content.flatMap((block, index) => [
      event('content_block_start', {index, content_block: block.type === 'text' ? {...block, text: ''} : {...block, input: {}}}),
      ...deltasOf(block).map(delta => event('content_block_delta', {index, delta})),
      event('content_block_stop', {index}),
    ]),
    event('message_delta', {delta: {stop_reason: stopOf(content, answer), stop_sequence: null}, usage: usageOf(tokens)}),
    event('message_stop', {}),
  ]
}

const deltasOf = ({type, text = '', input}: Block) =>
  type === 'text'
    ? pieces(text).map(part => ({type: 'text_delta', text: part}))
    : pieces(JSON.stringify(input)).map(part => ({type: 'input_json_delta', partial_json: part}))

const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({type, ...data})}\n\n`

export const failAnthropic = (message: string) => ({type: 'error', error: {type: 'stand_in', message}})
