import {type Answer, countOf, pieces, type Question, type Schema, type Tokens} from './answers.ts'

/** The body of a chat completion, by OpenAI's API reference. */
type Body = {
  model: string
  stream?: boolean
  stream_options?: {include_usage?: boolean}
  max_tokens?: number
  max_completion_tokens?: number
  messages: {role: string; content: string | {type: string; text?: string}[] | null; tool_calls?: unknown}[]
  tools?: {function: {name: string; parameters: Schema}}[]
  response_format?: {type: string; json_schema?: {schema: Schema}}
}

const textOf = (content: Body['messages'][number]['content']) =>
  typeof content === 'string' ? content : (content ?? []).map(({text = ''}) => text).join('')

export const readOpenAi = (body: Body): Question => ({
  wire: 'openai',
  model: body.model,
  stream: body.stream === true,
  system: body.messages
    .filter(({role}) => role === 'system')
    .map(({content}) => textOf(content))
    .join('\n'),
  messages: body.messages.filter(({role}) => role !== 'system').map(({role, content}) => ({role, text: textOf(content)})),
  tools: (body.tools ?? []).map(({function: {name, parameters}}) => ({name, schema: parameters})),
  schema: body.response_format?.json_schema?.schema ?? null,
  maxTokens: body.max_tokens ?? body.max_completion_tokens ?? null,
})

const created = 1_760_000_000

export const sayOpenAi = ({model}: Question, answer: Answer, tokens: Tokens | null) => {
  const content = answer.json === undefined ? (answer.text ?? null) : JSON.stringify(answer.json)
  const calls = callsOf(answer)
  return {
    id: 'chatcmpl-standin',
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        finish_reason: finishOf(answer),
        message: {role: 'assistant', content, ...(calls.length && {tool_calls: calls})},
      },
    ],
    ...(tokens && {usage: usageOf(tokens)}),
  }
}

/** `length`: the answer reached its maximum number of tokens. */
const finishOf = ({calls = [], isCut}: Answer) => (isCut ? 'length' : calls.length ? 'tool_calls' : 'stop')

let calls = 0
const callsOf = ({calls: asked = []}: Answer) =>
  asked.map(({name, input}) => ({id: `call_${++calls}`, type: 'function', function: {name, arguments: JSON.stringify(input)}}))

const usageOf = ({input, output}: Tokens) => ({prompt_tokens: input, completion_tokens: output, total_tokens: input + output})

/** Returns the answer as the events of a stream. */
export const streamOpenAi = ({model}: Question, answer: Answer, tokens: Tokens | null): string[] => {
  const chunk = (delta: object, finish: string | null = null) =>
    event({...head(model), choices: [{index: 0, delta, finish_reason: finish}]})
  const text = answer.json === undefined ? (answer.text ?? '') : JSON.stringify(answer.json)
  const asked = callsOf(answer)
  return [
    chunk({role: 'assistant', content: ''}),
    ...pieces(text).map(content => chunk({content})),
    ...asked.flatMap((call, index) => [
      chunk({tool_calls: [{index, ...call, function: {name: call.function.name, arguments: ''}}]}),
      ...pieces(call.function.arguments).map(part => chunk({tool_calls: [{index, function: {arguments: part}}]})),
    ]),
    chunk({}, finishOf(answer)),
    ...(tokens ? [event({...head(model), choices: [], usage: usageOf(tokens)})] : []),
    'data: [DONE]\n\n',
  ]
}

const head = (model: string) => ({id: 'chatcmpl-standin', object: 'chat.completion.chunk', created, model})
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`

export const failOpenAi = (message: string) => ({error: {message, type: 'stand_in', param: null, code: null}})

export const lengthOf = (answer: Answer) => countOf(JSON.stringify([answer.text, answer.json, answer.calls]))
