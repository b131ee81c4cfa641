import type {QuickJSContext, QuickJSHandle} from 'quickjs-emscripten-core'

/** The runtime has no more time, memory or stack to give, or what is ours is broken: it is no error of a row's. */
export class SandboxFault extends Error {}

/** What evaluating gave: a value, or what was thrown. */
type Evaluated = {value: QuickJSHandle} | {message: string; stack: string}

/**
 * Evaluating and calling inside a context. Every handle made here is let go by `release`, or all of them stay by `keep`: a handle holds
 * its value alive, and a run of a million rows makes thousands. After a fault nothing is released: the whole memory goes.
 */
export const openInside = (context: QuickJSContext) => {
  let owned: QuickJSHandle[] = []
  const own = (handle: QuickJSHandle) => {
    owned.push(handle)
    return handle
  }
  const evaluated = (result: {error: QuickJSHandle} | {value: QuickJSHandle; error?: undefined}): Evaluated =>
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

/** Whether what was thrown is a fault, whoever's code it was thrown in. */
export const isFault = (message: string) => /^(interrupted|out of memory|stack overflow)$/.test(message)

export const demand = (evaluated: Evaluated) => {
  if ('stack' in evaluated) throw new SandboxFault(`${evaluated.message}\n${evaluated.stack}`)
  return evaluated.value
}

/** Out of memory may leave nothing to throw at all. */
const thrownOf = (context: QuickJSContext, error: QuickJSHandle) => {
  const {message = 'out of memory', stack = ''} = (context.dump(error) ?? {}) as {message?: string; stack?: string}
  return {message: String(message), stack: String(stack)}
}
