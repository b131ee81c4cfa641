import type {Balance} from '../../billing/credits/balance.ts'
import type {Config} from '../../config.ts'
import type {Queue} from '../../queue.ts'
import type {Log} from '../../telemetry/log.ts'
import {keepTurn} from '../conversations/store-turn.ts'
import type {TurnTarget} from '../conversations/turn.ts'
import {withCredits} from '../credits.ts'
import type {Model, ModelPart, Usage} from '../model.ts'
import {ModelFailure, modelNotConfigured} from '../model-failure.ts'
import type {SentSamples} from '../sample-masking.ts'
import {type ChatAsked, type ChatContext, readContext} from './context.ts'
import {holdFor, instructions, messagesFor, mostSteps, mostTokens} from './prompt.ts'
import {toolSet} from './tool.ts'
import {chatTools} from './tools.ts'

type ChatDeps = Parameters<typeof chatTools>[0] & {
  queue: Queue
  config: Pick<Config, 'MODEL_TIMEOUT_SECONDS'>
  model: Model
  log: Log
}

type ChatQuestion = ChatAsked & {message: string}

export type ChatPart = Exclude<ModelPart, {type: 'done'}>

/** `turn` is null if the caller requested no turn, or if the import or the file was deleted in the meantime. */
export type ChatDone = {
  turn: {id: string; position: number} | null
  notes: string[]
  samples: SentSamples
  usage: Usage
  credits: number
  balance: Balance
}

/** Receives the parts of an answer as they arrive. `say` is awaited, so that a slow client slows the model down. */
type ChatListener = {say(part: ChatPart): Promise<void>; signal: AbortSignal}

/**
 * Reads the context. Throws if the question is invalid or no model is configured. The returned `begin` reserves credits, which can be refused too,
 * and calls the model.
 */
export const openChat = async (deps: ChatDeps, question: ChatQuestion): Promise<{begin(listening: ChatListener): Promise<ChatDone>}> => {
  const context = await readContext(deps, question)
  if (!deps.model.isConfigured) throw modelNotConfigured()
  return {begin: listening => converse(deps, {context, question}, listening)}
}

type ConverseInput = {context: ChatContext; question: ChatQuestion}

/** Reserves credits, streams the model's answer, and settles the cost in the transaction that stores the turn. */
const converse = async (deps: ChatDeps, {context, question}: ConverseInput, listening: ChatListener): Promise<ChatDone> => {
  const {org, out, asking, ground} = context
  const {signal} = listening
  signal.throwIfAborted()
  const sent = out.turnText(question.message)
  const messages = messagesFor(context, sent)
  const known = chatTools(deps)
  const charged = await withCredits(deps, {org, feature: 'chat', hold: holdFor(messages, known), signal}, async (spent, mayCost) => {
    const credit = {isSpent: false}
    const mayGoOn = async (total: Usage) => {
      credit.isSpent = !(await mayCost(total))
      return !credit.isSpent
    }
    const asked = {instructions, messages, tools: toolSet(known, context, deps.log), maxSteps: mostSteps, maxTokens: mostTokens}
    const heard = await streamParts(deps.model.converse({...asked, signal, spent, mayCost: mayGoOn}), context.targets, listening)
    const notes = heard.isCut ? [cutNote] : heard.isWhole ? [] : [credit.isSpent ? spentNote : stepsNote]
    const value = {notes, samples: out.sent(), turn: null as ChatDone['turn']}
    const keep = async (tx: Parameters<typeof keepTurn>[0]) => {
      const {answer, targets} = heard
      const turn = {route: 'chat' as const, question: question.message, answer, notes, targets, samples: value.samples, sent, ground}
      if (asking) value.turn = await keepTurn(tx, asking, turn)
    }
    return {value, usage: heard.usage, keep}
  })
  const {value, usage, credits, balance} = charged
  return {...value, usage, credits, balance}
}

const stepsNote = `The answer ends after ${mostSteps} steps. Ask for less at once`
const cutNote = 'The answer is cut off at its maximum length. Ask for the rest, or for less at once'
const spentNote = 'The AI credits ran out before the answer was complete. Buy credits, or wait for the next period'

/** A turn as received from the model. `isWhole`: the model ended with text, not with a tool call. `isCut`: the text reached its maximum length. */
type HeardTurn = {answer: string; isWhole: boolean; isCut: boolean; targets: TurnTarget[]; usage: Usage}

const streamParts = async (parts: AsyncIterable<ModelPart>, proposed: TurnTarget[], {say}: ChatListener): Promise<HeardTurn> => {
  const targets: TurnTarget[] = []
  let answer = ''
  let last: ModelPart['type'] | null = null
  for await (const part of parts) {
    if (part.type === 'done') {
      if (last === null) throw new ModelFailure('The answer is empty', {kind: 'invalid', usage: part.usage})
      return {answer, isWhole: last === 'text', isCut: part.isCut, targets, usage: part.usage}
    }
    if (part.type === 'text') answer += part.text
    if (part.type === 'tool_result') targets.push(...proposed.splice(0))
    last = part.type
    await say(part)
  }
  throw new ModelFailure('The answer broke off', {kind: 'unavailable'})
}
