import base from '@jitl/quickjs-wasmfile-release-sync'
import {newQuickJSWASMModuleFromVariant, type QuickJSContext, type QuickJSHandle} from 'quickjs-emscripten-core'
import {driverScript, hardenScript, helpersScript} from './builtin.ts'
import {LIMITS} from './limits.ts'
import {positionInStack} from './position.ts'
import {expressionScript, PROGRAM_FILE, programScript} from './program-script.ts'
import type {Checked, CompiledLibrary, Example, Head, Program, Refused} from './protocol.ts'
import {zoneOffset} from './zone-offset.ts'

/** The sandbox proper: one QuickJS in one WASM memory of its own. Lives in a thread; thrown away whole after a fault. */
export type Runtime = Awaited<ReturnType<typeof openRuntime>>

/** The package's types describe its CommonJS form, whose default export is one level further down. */
const variant = base as unknown as Parameters<typeof newQuickJSWASMModuleFromVariant>[0]

type Host = {began: (row: number, expression: number) => void; isOver: () => boolean}

/** Lines before an expression's or a library's own first line, as they are compiled. */
const LINES_BEFORE = 1

export const openRuntime = async ({began, isOver}: Host) => {
  const quickjs = await newQuickJSWASMModuleFromVariant(variant)
  const runtime = quickjs.newRuntime({memoryLimitBytes: LIMITS.memoryBytes, maxStackSizeBytes: LIMITS.stackBytes})
  runtime.setInterruptHandler(isOver)
  const context = runtime.newContext()
  const evaluate = (script: string, name: string) => evaluateIn(context, script, name)

  const hardened = evaluate(hardenScript(), 'harden')
  const host = hostObject(context, began)
  const driver = take(context, callIn(context, evaluate(driverScript(), 'driver'), hardened, host), 'define', 'run', 'load', 'call')
  const zone = context.newFunction('zoneOffset', (name, moment) => {
    const offset = zoneOffset(context.getString(name), context.getNumber(moment))
    return offset === null ? context.null : context.newNumber(offset)
  })
  const helpers = callIn(context, evaluate(helpersScript(), 'helpers'), zone)
  callIn(context, driver.load!, evaluate('helpers => ({exports: helpers, constants: []})', 'wrap'), helpers)

  const load = (library: CompiledLibrary) => callIn(context, driver.load!, evaluate(libraryScript(library), fileOf(library)), helpers)

  /** The program later crossings run. Answers what QuickJS will not compile, which the parser let pass. */
  const define = (program: Program): Refused[] => {
    const given = callIn(
      context,
      evaluate('(text) => text === undefined ? undefined : JSON.parse(text)', 'given'),
      textIn(context, program.context),
    )
    const namespaces = program.libraries.map(load)
    const frozen = callIn(context, driver.load!, evaluate('held => ({exports: held, constants: []})', 'wrap'), given)
    const refused = program.expressions.flatMap((_, index) => refusedBy(context, program, index))
    const open = evaluate(programScript(program, new Set(refused.map(({index}) => index))).script, PROGRAM_FILE)
    const make = program.fields ? evaluate(makeScript(program.fields), 'make') : context.null
    callIn(context, driver.define!, open, make, frozen, helpers, ...namespaces)
    return refused
  }

  const run = (rows: string, head: Head) =>
    textOf(context, callIn(context, driver.run!, textIn(context, rows), textIn(context, JSON.stringify(head))))

  /** Loads a library and runs its examples, each timed as a row. Answers the names of its exported functions, and what came out. */
  const check = (library: CompiledLibrary, examples: Example[]): Checked => {
    const compiled = tryEvaluate(context, libraryScript(library), fileOf(library))
    if ('stack' in compiled) return {kinds: '{}', results: [], refused: compiled}
    const loaded = callIn(context, driver.load!, compiled.value, helpers)
    const kinds = evaluate(
      'loaded => JSON.stringify(Object.fromEntries(Object.entries(loaded).map(([name, held]) => [name, typeof held])))',
      'kinds',
    )
    const results = examples.map(({name, arguments: given}, index) => {
      began(index, 0)
      const called = context.getProp(loaded, name)
      return textOf(context, callIn(context, driver.call!, called, textIn(context, given)))
    })
    return {kinds: textOf(context, callIn(context, kinds, loaded)), results, refused: null}
  }

  return {define, run, check}
}

const fileOf = ({namespace}: {namespace: string}) => `library:${namespace}`
const expressionFile = (index: number) => `expression:${index}`

/** Where in an expression's or a library's own source a stack points. */
const placeOf = ({stack}: {stack: string}, file: string, source: string) =>
  positionInStack(stack, file, source, LINES_BEFORE) ?? {line: null, column: null}

const libraryScript = ({code, exports, constants}: CompiledLibrary) =>
  `((helpers) => {"use strict";\n${code}\nreturn {exports: {${exports.map(({name, local}) => `${JSON.stringify(name)}: ${local}`).join(', ')}}, constants: [${constants.join(', ')}]}\n})`

/** A row out of flat cells. The fields' names are strings here, whatever they hold. Not frozen: no expression gets hold of it whole. */
const makeScript = (fields: string[]) =>
  `(cells, at) => ({${fields.map((field, index) => `[${JSON.stringify(field)}]: cells[at + ${index}]`).join(', ')}})`

/** What the parser let pass and QuickJS does not compile: one by one, since together they would hide one another. */
const refusedBy = (context: QuickJSContext, program: Program, index: number): Refused[] => {
  const compiled = tryEvaluate(context, expressionScript(program, index), expressionFile(index))
  if (!('stack' in compiled)) {
    compiled.value.dispose()
    return []
  }
  return [{index, message: compiled.message, ...placeOf(compiled, expressionFile(index), program.expressions[index]!.source)}]
}

const hostObject = (context: QuickJSContext, began: Host['began']) => {
  const object = context.newObject()
  const listen = context.newFunction('began', (row, expression) => began(context.getNumber(row), context.getNumber(expression)))
  context.setProp(object, 'began', listen)
  const {resultChars, resultDepth, messageChars, crossingChars} = LIMITS
  const limits = evaluateIn(context, `(${JSON.stringify({resultChars, resultDepth, messageChars, crossingChars})})`, 'limits')
  context.setProp(object, 'limits', limits)
  return object
}

const take = (context: QuickJSContext, object: QuickJSHandle, ...names: string[]) =>
  Object.fromEntries(names.map(name => [name, context.getProp(object, name)]))

const textIn = (context: QuickJSContext, text: string | undefined) => (text === undefined ? context.undefined : context.newString(text))

const textOf = (context: QuickJSContext, handle: QuickJSHandle) => {
  const text = context.getString(handle)
  handle.dispose()
  return text
}

/** What went wrong inside and is nobody's row: out of memory or time outside an expression, or a mistake of ours. */
export class SandboxFault extends Error {}

type Evaluated = {value: QuickJSHandle} | {message: string; stack: string}

const tryEvaluate = (context: QuickJSContext, script: string, name: string): Evaluated => {
  const result = context.evalCode(script, name, {type: 'global', strict: true})
  if (!result.error) return {value: result.value}
  const {message = '', stack = ''} = (context.dump(result.error) ?? {}) as {message?: string; stack?: string}
  result.error.dispose()
  return {message: String(message), stack: String(stack)}
}

const evaluateIn = (context: QuickJSContext, script: string, name: string) => {
  const result = tryEvaluate(context, script, name)
  if ('stack' in result) throw new SandboxFault(`${result.message}\n${result.stack}`)
  return result.value
}

const callIn = (context: QuickJSContext, called: QuickJSHandle, ...given: QuickJSHandle[]) => {
  const result = context.callFunction(called, context.undefined, ...given)
  if (!result.error) return result.value
  const thrown = context.dump(result.error) as {message?: string; stack?: string} | null
  result.error.dispose()
  throw new SandboxFault(`${thrown?.message ?? 'out of memory'}\n${thrown?.stack ?? ''}`)
}
