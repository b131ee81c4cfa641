import type {McpServer, ServerContext} from '@modelcontextprotocol/server'
import * as sdk from '@modelcontextprotocol/server'
import {z} from 'zod'
import {capabilitiesOf, type States, says} from './fixture.ts'

const {inputRequired, acceptedContent} = sdk
const Named = z.object({name: z.string()})
const Confirmed = z.object({ok: z.boolean()})
const Coloured = z.object({color: z.string()})

const ask = (message: string, requestedSchema: z.ZodObject) => inputRequired.elicit({message, requestedSchema})
const sample = (question: string, maxTokens: number) =>
  inputRequired.createMessage({messages: [{role: 'user', content: {type: 'text', text: question}}], maxTokens})

/** Adds tools that ask the client for input until all of it came. `capabilities` always asks, and `tampered_state` until its state returns. */
export const addInputTools = (server: McpServer, states: States): void => {
  const add = (name: string, answer: (context: ServerContext) => Promise<sdk.CallToolResult | sdk.InputRequiredResult>) =>
    server.registerTool(`test_input_required_result_${name}`, {description: `Asks the client: ${name}`}, answer)
  add('elicitation', async ({mcpReq}) => {
    const given = acceptedContent(mcpReq.inputResponses, 'user_name', Named)
    return given ? says(`Hello, ${given.name}!`) : inputRequired({inputRequests: {user_name: ask('What is your name?', Named)}})
  })
  add('sampling', async ({mcpReq}) => {
    const given = sdk.inputResponse(mcpReq.inputResponses, 'capital_question')
    if (given.kind !== 'sampling') return inputRequired({inputRequests: {capital_question: sample('What is the capital of France?', 100)}})
    return says(JSON.stringify(given.result.content))
  })
  add('list_roots', async ({mcpReq}) => {
    const given = sdk.inputResponse(mcpReq.inputResponses, 'client_roots')
    if (given.kind !== 'roots') return inputRequired({inputRequests: {client_roots: inputRequired.listRoots()}})
    return says(`Roots: ${given.roots.map(({uri}) => uri).join(', ')}`)
  })
  addStateful(add, states)
  add('capabilities', async context => {
    const can = capabilitiesOf(server, context)
    return inputRequired({
      inputRequests: {
        ...(can.sampling && {a_sample: sample('Say something', 10)}),
        ...(can.elicitation && {a_name: ask('What is your name?', Named)}),
        ...(can.roots && {the_roots: inputRequired.listRoots()}),
      },
    })
  })
}

type Add = (name: string, answer: (context: ServerContext) => Promise<sdk.CallToolResult | sdk.InputRequiredResult>) => unknown

/** Adds tools whose state the client carries between two rounds. The state is signed, and the server has verified it before a tool runs. */
const addStateful = (add: Add, states: States) => {
  add('request_state', async context => {
    const {inputResponses, requestState} = context.mcpReq
    if (acceptedContent(inputResponses, 'confirm', Confirmed) && requestState<{step: string}>()?.step === 'confirm') return says('state-ok')
    const inputRequests = {confirm: ask('Please confirm', Confirmed)}
    return inputRequired({inputRequests, requestState: await states.mint({step: 'confirm'}, context)})
  })
  add('tampered_state', async context => {
    if (context.mcpReq.requestState<{step: string}>()?.step === 'whole') return says('The state is whole')
    const inputRequests = {confirm: ask('Please confirm', Confirmed)}
    return inputRequired({inputRequests, requestState: await states.mint({step: 'whole'}, context)})
  })
  add('multiple_inputs', async context => {
    const {inputResponses, requestState} = context.mcpReq
    const isWhole = ['user_name', 'greeting', 'client_roots'].every(key => sdk.inputResponse(inputResponses, key).kind !== 'missing')
    if (isWhole && requestState<{step: string}>()?.step === 'all') return says('Everything came')
    const inputRequests = {
      user_name: ask('What is your name?', Named),
      greeting: sample('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    }
    return inputRequired({inputRequests, requestState: await states.mint({step: 'all'}, context)})
  })
  add('multi_round', async context => {
    const {inputResponses, requestState} = context.mcpReq
    const {step} = requestState<{step: string}>() ?? {}
    if (step === 'two' && acceptedContent(inputResponses, 'step2', Coloured)) return says('Both rounds are done')
    const isSecond = step === 'one' && acceptedContent(inputResponses, 'step1', Named)
    const inputRequests = isSecond
      ? {step2: ask('Step 2: What is your favorite color?', Coloured)}
      : {step1: ask('Step 1: What is your name?', Named)}
    return inputRequired({inputRequests, requestState: await states.mint({step: isSecond ? 'two' : 'one'}, context)})
  })
}
