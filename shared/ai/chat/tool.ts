import type {z} from 'zod'
import {Refusal} from '../../errors.ts'
import type {Log} from '../../log.ts'
import type {ModelTool, ToolSet} from '../model.ts'
import type {ChatContext} from './context.ts'

/** A tool of the model. It reads what its context's org has, by names; what it answers leaves by the context's `out`. */
export type ChatTool<I extends z.ZodType = z.ZodType> = {
  name: string
  description: string
  input: I
  run(context: ChatContext, asked: z.output<I>, signal: AbortSignal): Promise<object>
}

/** Gives back what it is given: the types of `run` come from the schema beside it. */
export const chatTool = <I extends z.ZodType>(declared: ChatTool<I>): ChatTool => declared as unknown as ChatTool

/** What an answer of a tool has at most, as JSON. The model reads it again with every step. */
export const mostAnswer = 6_000

/** What is refused is told, so that the model can do otherwise; what went wrong is logged by its name, since messages may quote what was asked. */
export const toolSet = (tools: readonly ChatTool[], context: ChatContext, log: Log): ToolSet =>
  Object.fromEntries(
    tools.map(({name, description, input, run}): [string, ModelTool] => {
      const guarded = async (asked: never, signal: AbortSignal) => {
        try {
          return context.out.value(await run(context, asked, signal))
        } catch (error) {
          if (error instanceof Refusal) return context.out.value({error: error.message, code: error.code})
          signal.throwIfAborted()
          log.error({tool: name, fault: error instanceof Error ? error.name : 'unknown'}, 'a tool of a conversation failed')
          return {error: 'This tool failed'}
        }
      }
      return [name, {description, input, run: guarded}]
    }),
  )

/** As many of a list as fit into an answer; `more` where that is not all of it. */
export const takeFitting = <T>(list: readonly T[], most = mostAnswer - 500): {some: T[]; more: boolean} => {
  let [left, count] = [most, 0]
  for (const one of list) {
    left -= JSON.stringify(one).length + 1
    if (left < 0) break
    count += 1
  }
  return {some: list.slice(0, count), more: count < list.length}
}
