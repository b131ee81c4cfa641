import base from '@jitl/quickjs-wasmfile-release-sync'
import {newQuickJSWASMModuleFromVariant, type QuickJSContext} from 'quickjs-emscripten-core'
import type {Scripts} from './builtin.ts'
import {LIMITS} from './limits.ts'
import {positionInStack} from './position.ts'
import {expressionScript, PROGRAM_FILE, programScript} from './program-script.ts'
import {
  type CheckedLibrary,
  type CompiledLibrary,
  type Example,
  monotonicMilliseconds,
  type ProgramHead,
  type RefusedProgram,
  type SandboxProgram,
} from './protocol.ts'
import {demand, isFault, openInside} from './quickjs.ts'
import {zoneOffset} from './zone-offset.ts'

/** A QuickJS instance with its own WASM memory. It runs in a thread and is discarded after a fault. */
export type Runtime = Awaited<ReturnType<typeof openRuntime>>

type Host = {began: (row: number, expression: number) => void; isOver: () => boolean; scripts: Scripts}
type Inside = ReturnType<typeof openInside>

/** A cast is needed, because the package's types describe its CommonJS build, whose default export is one level deeper. */
const variant = base as unknown as Parameters<typeof newQuickJSWASMModuleFromVariant>[0]

export const openRuntime = async ({began, isOver, scripts}: Host) => {
  const quickjs = await newQuickJSWASMModuleFromVariant(variant)
  const runtime = quickjs.newRuntime({memoryLimitBytes: LIMITS.memoryBytes, maxStackSizeBytes: LIMITS.stackBytes})
  runtime.setInterruptHandler(isOver)
  const context = runtime.newContext()
  const inside = openInside(context)
  const {driver, helpers} = openDriver(context, inside, {began, scripts})
  inside.keep()

  /** Sets the program that later calls of `run` execute. Returns the expressions that the parser accepted but QuickJS does not compile. */
  const define = (program: SandboxProgram): RefusedProgram[] => {
    inside.call(driver.forget)
    const given = program.context === undefined ? context.undefined : inside.call(driver.data, inside.text(program.context))
    const namespaces = program.libraries.map(library =>
      inside.call(driver.load, inside.evaluate(libraryScript(library), fileOf(library)), helpers),
    )
    const refused = program.expressions.flatMap((_, index) => refusedBy(inside, program, index))
    const open = inside.evaluate(programScript(program, new Set(refused.map(({index}) => index))).script, PROGRAM_FILE)
    const make = program.fields ? inside.evaluate(makeScript(program.fields), 'make') : context.null
    inside.call(driver.define, open, make, given, helpers, ...namespaces)
    inside.release()
    return refused
  }

  const run = (rows: string, head: ProgramHead) => {
    const answer = inside.textOf(inside.call(driver.run, inside.text(rows), inside.text(JSON.stringify(head))))
    inside.release()
    return answer
  }

  /** Loads a library and runs its examples, each with the time limit of a row, until their total time is used up. */
  const check = (library: CompiledLibrary, examples: Example[]): CheckedLibrary => {
    inside.call(driver.forget)
    const compiled = inside.tryEvaluate(libraryScript(library), fileOf(library))
    const loaded = 'stack' in compiled ? compiled : inside.tryCall(driver.load, compiled.value, helpers)
    if ('stack' in loaded && !isFault(loaded.message)) return {kinds: '{}', results: [], refused: loaded}
    const exported = demand(loaded)
    const results: string[] = []
    const until = monotonicMilliseconds() + LIMITS.examplesMilliseconds
    for (const [index, {name, arguments: given}] of examples.entries()) {
      if (monotonicMilliseconds() > until) break
      began(index, 0)
      results.push(inside.textOf(inside.call(driver.call, inside.property(exported, name), inside.text(given))))
    }
    const kinds = inside.textOf(inside.call(driver.kinds, exported))
    inside.release()
    return {kinds, results, refused: null}
  }

  return {define, run, check}
}

const openDriver = (context: QuickJSContext, inside: Inside, {began, scripts}: Pick<Host, 'began' | 'scripts'>) => {
  const {resultChars, resultDepth, messageChars, crossingChars} = LIMITS
  const host = inside.evaluate(`({limits: ${JSON.stringify({resultChars, resultDepth, messageChars, crossingChars})}})`, 'host')
  const listen = context.newFunction('began', (row, expression) => began(context.getNumber(row), context.getNumber(expression)))
  context.setProp(host, 'began', listen)
  const zone = context.newFunction('zoneOffset', (name, moment) => {
    const offset = zoneOffset(context.getString(name), context.getNumber(moment))
    return offset === null ? context.null : context.newNumber(offset)
  })
  const object = inside.call(inside.evaluate(scripts.driver, 'driver'), inside.evaluate(scripts.harden, 'harden'), host)
  const driver = {
    define: inside.property(object, 'define'),
    run: inside.property(object, 'run'),
    load: inside.property(object, 'load'),
    call: inside.property(object, 'call'),
    data: inside.property(object, 'data'),
    kinds: inside.property(object, 'kinds'),
    forget: inside.property(object, 'forget'),
  }
  const made = inside.call(inside.evaluate(scripts.helpers, 'helpers'), zone)
  const helpers = inside.call(driver.load, inside.evaluate('helpers => ({exports: helpers, constants: []})', 'helpers'), made)
  return {driver, helpers}
}

const fileOf = ({namespace}: {namespace: string}) => `library:${namespace}`

/** Line n of the source is line n + 1 of the script. Only the library's top level can throw while the script loads. */
const libraryScript = ({code, exports, constants}: CompiledLibrary) =>
  `((helpers) => {"use strict";\n${code}\nreturn {exports: {${exports.map(({name, local}) => `${JSON.stringify(name)}: ${local}`).join(', ')}}, constants: [${constants.join(', ')}]}\n})`

/**
 * The script builds a row from flat cells. Field names are string literals, so they may contain any characters. The row is not frozen, because no
 * expression can access the whole row.
 */
const makeScript = (fields: string[]) =>
  `(cells, at) => ({${fields.map((field, index) => `[${JSON.stringify(field)}]: cells[at + ${index}]`).join(', ')}})`

/** Compiles one expression alone, because in the whole program its error would hide the errors of the others. */
const refusedBy = (inside: Inside, program: SandboxProgram, index: number): RefusedProgram[] => {
  const compiled = inside.tryEvaluate(expressionScript(program, index), 'expression')
  if (!('stack' in compiled)) return []
  const position = positionInStack(compiled.stack, 'expression', program.expressions[index]!.source, 1) ?? {line: null, column: null}
  return [{index, message: compiled.message, ...position}]
}
