import {createHash} from 'node:crypto'
import {isDeepStrictEqual} from 'node:util'
import {readLibrarySource} from './library-source.ts'
import {LIMITS} from './limits.ts'
import type {Manifest} from './manifest.ts'
import {ModuleProblem} from './module-source.ts'
import {FORBIDDEN_PROPERTIES, isReservedNamespace} from './names.ts'
import {positionInStack} from './position.ts'
import type {CompiledLibrary, FaultCode, NullablePosition} from './protocol.ts'
import type {Sandbox} from './sandbox.ts'
import {sandboxUnavailable} from './sandbox-thread.ts'

export type Library = {namespace: string; functions: string[]; compiled: CompiledLibrary; digest: string}

type LibraryCode = 'NAMESPACE_MISMATCH' | 'NAMESPACE_RESERVED' | 'LIBRARY_SCOPE' | 'LIBRARY_LOAD' | 'LIBRARY_EXPORTS' | 'LIBRARY_EXAMPLE'

/** A problem of a library. `line` and `column` count from 1 in the library's source; they are null if the problem has no position there. */
type LibraryProblem = {ok: false; code: LibraryCode; message: string} & NullablePosition
export type LibraryCheck = {ok: true; library: Library} | LibraryProblem

type LibraryInput = {manifest: Manifest; source: string}

/** Builds a library from its manifest and source. Unless `isNew`, the library must have been checked when it was published. Throws ModuleProblem. */
export const readLibrary = ({manifest, source}: LibraryInput, {isNew = false} = {}): Library => {
  const {namespace, functions} = manifest
  const digest = createHash('sha256')
    .update(JSON.stringify([namespace, source]))
    .digest('hex')
  return {namespace, functions: functions.map(({name}) => name), compiled: {...readLibrarySource(source, isNew), namespace}, digest}
}

/**
 * Checks a library before it is published or restored: names, source and exports, then each example in the sandbox. `manifest` must have been parsed
 * by `Manifest`. `namespace`: the one in the request's path, if the path has one. Returns the first problem, or the library. Throws a Refusal
 * SANDBOX_UNAVAILABLE if no sandbox can start; the library is then unchecked.
 */
export const checkLibrary = async (sandbox: Sandbox, input: LibraryInput & {namespace?: string}): Promise<LibraryCheck> => {
  const named = nameProblem(input)
  if (named) return named
  const library = tryRead(input)
  if ('ok' in library) return library
  return exportsProblem(input, library) ?? (await examplesProblem(sandbox, input, library)) ?? {ok: true, library}
}

const nowhere = {line: null, column: null}
const problem = (code: LibraryCode, message: string, position: NullablePosition = nowhere): LibraryProblem => ({
  ok: false,
  code,
  message,
  ...position,
})

const nameProblem = ({manifest, namespace}: LibraryInput & {namespace?: string}) => {
  if (namespace !== undefined && manifest.namespace !== namespace)
    return problem(
      'NAMESPACE_MISMATCH',
      `The manifest's namespace is ${manifest.namespace}, but the library is published as ${namespace}. Use the same name`,
    )
  if (isReservedNamespace(manifest.namespace))
    return problem('NAMESPACE_RESERVED', `${manifest.namespace} is a name of the service or of the language. Choose another namespace`)
  if (!canBeParameter(manifest.namespace))
    return problem('NAMESPACE_RESERVED', `${manifest.namespace} is a keyword of the language. Choose another namespace`)
  return manifest.scope === 'org' ? null : problem('LIBRARY_SCOPE', 'The scope of a library must be "org". "global" is not supported')
}

const KEYWORDS = new Set(
  `await break case catch class const continue debugger default delete do else enum export extends false finally for function if implements
  import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var
  void while with yield async of get set`.split(/\s+/),
)
const canBeParameter = (name: string) => !KEYWORDS.has(name)

const tryRead = (input: LibraryInput): Library | LibraryProblem => {
  try {
    return readLibrary(input, {isNew: true})
  } catch (error) {
    if (error instanceof ModuleProblem) return problem('LIBRARY_LOAD', error.message, error.position)
    throw error
  }
}

const exportsProblem = ({manifest}: LibraryInput, {compiled}: Library) => {
  const declared = new Set<string>()
  for (const {name} of manifest.functions) {
    if (declared.has(name)) return problem('LIBRARY_EXPORTS', `The manifest names ${name} twice`)
    declared.add(name)
    if (FORBIDDEN_PROPERTIES.has(name))
      return problem('LIBRARY_EXPORTS', `No expression can call a function named ${name}. Choose another name`)
    if (!compiled.exports.some(exported => exported.name === name))
      return problem('LIBRARY_EXPORTS', `The manifest names ${name}, but the source does not export it`)
  }
  const extra = compiled.exports.find(({name}) => !declared.has(name))
  return extra ? problem('LIBRARY_EXPORTS', `The source exports ${extra.name}, but the manifest does not name it`, extra.position) : null
}

const examplesProblem = async (sandbox: Sandbox, {manifest, source}: LibraryInput, {compiled}: Library) => {
  const examples = manifest.functions.flatMap(({name, examples}) => examples.map(example => ({name, ...example})))
  const asked = examples.map(({name, arguments: input}) => ({name, arguments: JSON.stringify(input)}))
  const answered = await sandbox.ask<'check'>({kind: 'check', library: compiled, examples: asked})
  if ('fault' in answered) return faultProblem(answered.fault, examples[answered.row]?.name)
  const {kinds, refused, results} = answered.answer
  if (refused) return problem('LIBRARY_LOAD', refused.message, positionOf(refused.stack, compiled, source))
  const stray = Object.entries(JSON.parse(kinds) as Record<string, string>).find(([, kind]) => kind !== 'function')
  if (stray) {
    const {position} = compiled.exports.find(({name}) => name === stray[0])!
    return problem('LIBRARY_EXPORTS', `${stray[0]} is not a function. A library can export only functions`, position)
  }
  for (const [at, {name, arguments: input, result}] of examples.entries()) {
    if (at === results.length)
      return problem(
        'LIBRARY_EXAMPLE',
        `The examples take more than ${LIMITS.examplesMilliseconds} ms together. Use fewer or shorter examples`,
      )
    const [actual, thrown] = JSON.parse(results[at]!) as [unknown, [string, string, string] | null]
    const call = shorten(`${name}(${input.map(one => JSON.stringify(one)).join(', ')})`)
    if (thrown) return problem('LIBRARY_EXAMPLE', `${call} threw: ${thrown[1]}`, positionOf(thrown[2], compiled, source))
    if (!isDeepStrictEqual(actual, result))
      return problem(
        'LIBRARY_EXAMPLE',
        `${call} returned ${shorten(JSON.stringify(actual))}, but its example expects ${shorten(JSON.stringify(result))}`,
      )
  }
  return null
}

const positionOf = (stack: string, {namespace}: CompiledLibrary, source: string) =>
  positionInStack(stack, `library:${namespace}`, source, 1) ?? nowhere

const shorten = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

const faultProblem = (fault: FaultCode, name: string | undefined) => {
  if (fault === 'SANDBOX_UNAVAILABLE') throw sandboxUnavailable()
  if (name === undefined) return problem('LIBRARY_LOAD', `Loading the library ${FAULTS[fault]}`)
  return problem('LIBRARY_EXAMPLE', `An example of ${name} ${FAULTS[fault]}`)
}

const FAULTS = {EXPRESSION_TIMEOUT: 'took too long', EXPRESSION_MEMORY: 'used up the memory', EXPRESSION_STACK: 'called itself too deeply'}
