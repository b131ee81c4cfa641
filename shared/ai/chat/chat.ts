import type {Pool} from '../../../sql/database.ts'
import type {Config} from '../../config.ts'
import {keepTurn} from '../../conversations/keep.ts'
import type {Target} from '../../conversations/turn.ts'
import type {Balance} from '../../credits/balance.ts'
import type {Log} from '../../log.ts'
import type {Queue} from '../../queue.ts'
import {withCredits} from '../credits.ts'
import type {Model, Part, Usage} from '../model.ts'
import {ModelFailure, modelNotConfigured} from '../model-failure.ts'
import type {Sent} from '../outgoing.ts'
import {type ChatAsked, type ChatContext, readContext} from './context.ts'
import {holdFor, instructions, messagesFor, mostSteps, mostTokens} from './prompt.ts'
import {toolSet} from './tool.ts'
import {chatTools} from './tools.ts'

type Tools = {db: Pool; queue: Queue; config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>; model: Model; log: Log}

type ChatQuestion = ChatAsked & {message: string}

/** What a conversation says while it goes on. */
export type Said = Exclude<Part, {type: 'done'}>

/** `turn`: null where none was asked to be kept, or what it belonged to has gone meanwhile. */
export type ChatDone = {
  turn: {id: string; position: number} | null
  notes: string[]
  samples: Sent
  usage: Usage
  credits: number
  balance: Balance
}

/** Told in parts as they come: `say` is awaited, so that who listens slowly is not run over. */
type Listening = {say(part: Said): Promise<void>; signal: AbortSignal}

/** Everything that can be refused before the model is asked: `begin` asks it. */
export const openChat = async (tools: Tools, question: ChatQuestion): Promise<{begin(listening: Listening): Promise<ChatDone>}> => {
  const context = await readContext(tools.db, question)
  if (!tools.model.isConfigured) throw modelNotConfigured()
  return {begin: listening => converse(tools, {context, question}, listening)}
}

type Opened = {context: ChatContext; question: ChatQuestion}

/** Credits are set aside, the model is listened to, and what it came to is settled in the transaction that keeps the turn. */
const converse = async (tools: Tools, {context, question}: Opened, listening: Listening): Promise<ChatDone> => {
  const {org, out, asking, ground} = context
  const {signal} = listening
  signal.throwIfAborted()
  const sent = out.said(question.message)
  const messages = messagesFor(context, sent)
  const known = chatTools(tools.db)
  const charged = await withCredits(tools, {org, feature: 'chat', hold: holdFor(messages, known), signal}, async (spent, mayCost) => {
    const credit = {isSpent: false}
    const mayGoOn = async (total: Usage) => {
      credit.isSpent = !(await mayCost(total))
      return !credit.isSpent
    }
    const asked = {instructions, messages, tools: toolSet(known, context, tools.log), maxSteps: mostSteps, maxTokens: mostTokens}
    const heard = await listen(tools.model.converse({...asked, signal, spent, mayCost: mayGoOn}), listening)
    const notes = heard.isWhole ? [] : [credit.isSpent ? spentNote : stepsNote]
    const value = {notes, samples: out.sent(), turn: null as ChatDone['turn']}
    const keep = async (tx: Parameters<typeof keepTurn>[0]) => {
      const {answer, targets} = heard
      const said = {...{route: 'chat' as const, question: question.message, answer, notes, targets}, samples: value.samples, sent, ground}
      if (asking) value.turn = await keepTurn(tx, asking, said)
    }
    return {value, usage: heard.usage, keep}
  })
  const {value, usage, credits, balance} = charged
  return {...value, usage, credits, balance}
}

const stepsNote = `The answer ends after ${mostSteps} steps. Ask for less at once`
const spentNote = 'The AI credits ran out before the answer was complete. Buy credits, or wait for the next period'

/** `isWhole`: the model ended with text, not with a call of a tool. */
type Heard = {answer: string; isWhole: boolean; targets: Target[]; usage: Usage}

const listen = async (parts: AsyncIterable<Part>, {say}: Listening): Promise<Heard> => {
  const calls = new Map<string, unknown>()
  const targets: Target[] = []
  let answer = ''
  let last: Part['type'] | null = null
  for await (const part of parts) {
    if (part.type === 'done') {
      if (last === null) throw new ModelFailure('The answer is empty', {kind: 'invalid', usage: part.usage})
      return {answer, isWhole: last === 'text', targets, usage: part.usage}
    }
    if (part.type === 'text') answer += part.text
    if (part.type === 'tool') calls.set(part.id, part.input)
    if (part.type === 'tool_result') targets.push(...targetsOf(part, calls.get(part.id)))
    last = part.type
    await say(part)
  }
  throw new ModelFailure('The answer broke off', {kind: 'unavailable'})
}

const sure = 0.5

/** What the answer was made from that could be taken over: mappings that were proposed, and expressions that compiled. */
const targetsOf = ({name, output}: Extract<Part, {type: 'tool_result'}>, input: unknown): Target[] => {
  const {proposals, compiles} = output as {
    proposals?: {column: string; module: string; field: string | null; confidence: number}[]
    compiles?: boolean
  }
  if (name === 'propose_mapping' && proposals)
    return proposals.flatMap(({column, module, field, confidence}) =>
      field !== null && confidence >= sure ? [{kind: 'mapping' as const, column, module, field, confidence}] : [],
    )
  if (name !== 'test_expression' || compiles !== true) return []
  const {expression, module = null, field = null} = input as {expression: string; module?: string | null; field?: string | null}
  return [{kind: 'expression', module, field, expression}]
}
