import type {z} from 'zod'
import {Refusal} from '../../errors.ts'
import type {Log} from '../../telemetry/log.ts'
import type {ModelTool, ToolSet} from '../model.ts'
import type {ChatContext} from './context.ts'

/** A tool that the model can call in a chat. The tool reads only data of the org of `context`, and `context.out` masks its result. */
export type ChatTool<I extends z.ZodType = z.ZodType> = {
  name: string
  description: string
  input: I
  run(context: ChatContext, asked: z.output<I>, signal: AbortSignal): Promise<object>
}

/** Returns its argument. TypeScript infers the types of `run` from the schema. */
export const chatTool = <I extends z.ZodType>(declared: ChatTool<I>): ChatTool => declared as unknown as ChatTool

/** Maximum length of a tool's result as JSON, in characters. The model reads the result again in every step. */
const mostAnswer = 6_000

/**
 * Refusals are returned to the model, so that it can try something else. Other errors are logged by name only, because messages may quote the input.
 */
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

/**
 * Returns the first items of a list that together have at most `most` characters as JSON, by default those that fit into a tool's result.
 * `more`: items were left out.
 */
export const takeFitting = <T>(list: readonly T[], most = mostAnswer - 500): {some: T[]; more: boolean} => {
  let [left, count] = [most, 0]
  for (const one of list) {
    left -= JSON.stringify(one).length + 1
    if (left < 0) break
    count += 1
  }
  return {some: list.slice(0, count), more: count < list.length}
}
