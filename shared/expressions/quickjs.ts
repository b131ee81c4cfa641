import type {QuickJSContext, QuickJSHandle} from 'quickjs-emscripten-core'

/** A failure of the runtime: time, memory or stack is exhausted, or the service's own scripts failed. Errors of an expression are not faults. */
export class SandboxFault extends Error {}

type EvaluatedScript = {value: QuickJSHandle} | {message: string; stack: string}

/**
 * A handle keeps its value alive, and a run of a million rows creates thousands of handles. `release` frees all handles made since the last `keep` or
 * `release`; `keep` retains them. After a fault nothing is released, because the whole memory is dropped.
 */
export const openInside = (context: QuickJSContext) => {
  let owned: QuickJSHandle[] = []
  const own = (handle: QuickJSHandle) => {
    owned.push(handle)
    return handle
  }
  const evaluated = (result: {error: QuickJSHandle} | {value: QuickJSHandle; error?: undefined}): EvaluatedScript =>
    result.error ? thrownOf(context, own(result.error)) : {value: own(result.value)}
  const tryEvaluate = (script: string, name: string) => evaluated(context.evalCode(script, name, {type: 'global', strict: true}))
  const tryCall = (called: QuickJSHandle, ...given: QuickJSHandle[]) => evaluated(context.callFunction(called, context.undefined, ...given))
  return {
    own,
    tryEvaluate,
    tryCall,
    evaluate: (script: string, name: string) => demand(tryEvaluate(script, name)),
    call: (called: QuickJSHandle, ...given: QuickJSHandle[]) => demand(tryCall(called, ...given)),
    property: (object: QuickJSHandle, name: string) => own(context.getProp(object, name)),
    text: (text: string) => own(context.newString(text)),
    textOf: (handle: QuickJSHandle) => context.getString(handle),
    keep: () => {
      owned = []
    },
    release: () => {
      for (const handle of owned) if (handle.alive) handle.dispose()
      owned = []
    },
  }
}

/** Whether an error message means a fault, whichever code threw the error. */
export const isFault = (message: string) => /^(interrupted|out of memory|stack overflow)$/.test(message)

export const demand = (evaluated: EvaluatedScript) => {
  if ('stack' in evaluated) throw new SandboxFault(`${evaluated.message}\n${evaluated.stack}`)
  return evaluated.value
}

/** If memory ran out, the error object may be missing. */
const thrownOf = (context: QuickJSContext, error: QuickJSHandle) => {
  const {message = 'out of memory', stack = ''} = (context.dump(error) ?? {}) as {message?: string; stack?: string}
  return {message: String(message), stack: String(stack)}
}
