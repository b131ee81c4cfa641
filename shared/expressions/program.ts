import {LIMITS} from './limits.ts'
import {type ParsedExpression, parseExpression} from './parse.ts'
import {positionInStack} from './position.ts'
import {PROGRAM_FILE, programScript} from './program-script.ts'
import type {Fault, FaultCode, RefusedProgram, SandboxProgram} from './protocol.ts'
import type {Batch, EvaluationCode, EvaluationError, ExpressionOutcome, ExpressionSource} from './sandbox.ts'

/** Expressions prepared for a thread, and functions that convert the thread's answers to outcomes by expression name. */
export type PreparedProgram = ReturnType<typeof prepare>

type ProgramInput = Pick<Batch, 'expressions' | 'libraries' | 'context'>

/** Returns `last` if the expressions, context and libraries are the same, because parsing costs more than evaluating a batch. */
export const prepareProgram = (given: ProgramInput, last: PreparedProgram | null) => {
  const key = JSON.stringify([given.expressions, given.context, (given.libraries ?? []).map(({digest}) => digest)])
  return last?.key === key ? last : prepare(key, given)
}

const prepare = (key: string, {expressions, libraries = [], context}: ProgramInput) => {
  const entries = Object.entries(expressions).map(([name, given]) => ({name, ...sourceOf(given)}))
  if (entries.length > LIMITS.expressions) throw new RangeError(`At most ${LIMITS.expressions} expressions are evaluated together`)
  if (Object.hasOwn(expressions, '__proto__')) throw new RangeError('No expression is named __proto__')
  const text = context === undefined ? undefined : JSON.stringify(context)
  if (text !== undefined && text.length > LIMITS.contextChars)
    throw new RangeError(`The expression context has more than ${LIMITS.contextChars} characters`)
  const namespaces = Object.fromEntries(libraries.map(library => [library.namespace, library.functions]))
  const read = entries.map(entry => ({...entry, result: parseExpression(entry.source, {namespaces})}))
  const failed: Record<string, ExpressionOutcome> = {}
  for (const {name, result} of read) if (!result.ok) failed[name] = {error: {...result.problem}}
  const good = read.flatMap(({result, ...entry}) => (result.ok ? [{...entry, parsed: result.parsed}] : []))
  const used = new Set(good.flatMap(({parsed}) => parsed.namespaces))
  const program: SandboxProgram = {
    expressions: good.map(({source, value, parsed}) => ({source, value: parsed.readsValue ? value : null})),
    fields: fieldsOf(good),
    libraries: libraries.filter(({namespace}) => used.has(namespace)).map(({compiled}) => compiled),
    context: text,
  }
  const names = good.map(({name}) => name)
  return {
    key,
    program,
    failed,
    ran: names,
    ...answersOf(names, program, failed),
  }
}

const sourceOf = (given: ExpressionSource) => (typeof given === 'string' ? {source: given, value: null} : given)

const fieldsOf = (expressions: {value: string | null; parsed: ParsedExpression}[]) => {
  const fields = new Set<string>()
  for (const {value, parsed} of expressions) {
    if (parsed.fields === null) return null
    for (const field of parsed.fields) fields.add(field)
    if (parsed.readsValue && value !== null) fields.add(value)
  }
  return [...fields]
}

type ThrownError = {code: EvaluationCode; message: string; stack: string}

const answersOf = (names: string[], program: SandboxProgram, failed: Record<string, ExpressionOutcome>) => {
  const rowOf = (error: EvaluationError) =>
    ({...failed, ...Object.fromEntries(names.map(name => [name, {error}]))}) as Record<string, ExpressionOutcome>
  const {lines} = programScript(program, new Set())
  const nowhere = {line: null, column: null}
  return {
    errorOf: (index: number, {code, message, stack}: ThrownError): EvaluationError => ({
      code,
      message: code === 'EXPRESSION_STACK' ? MESSAGES.EXPRESSION_STACK : message,
      ...(positionInStack(stack, PROGRAM_FILE, program.expressions[index]!.source, lines[index]!) ?? nowhere),
    }),
    allFail: (error: Pick<EvaluationError, 'code' | 'message'>) => rowOf({...error, ...nowhere}),
    /** Returns the outcomes of a row that caused a fault. Each expression gets the error, which names the expression that ran. */
    faulted: ({fault, expression}: Fault) => {
      const name = names[expression]
      return rowOf({code: fault, message: `${MESSAGES[fault]}${name === undefined || names.length === 1 ? '' : ` (${name})`}`, ...nowhere})
    },
    /** Expressions that QuickJS does not compile fail in every row. */
    refuse: (refused: RefusedProgram[]) => {
      for (const {index, message, line, column} of refused)
        failed[names[index]!] = {error: {code: 'EXPRESSION_SYNTAX', message, line, column}}
    },
  }
}

const MESSAGES: Record<FaultCode, string> = {
  EXPRESSION_TIMEOUT: 'The row took too long. Look for a slow pattern, or for text that grows with every step',
  EXPRESSION_MEMORY: 'The row used up the memory. Build smaller values',
  EXPRESSION_STACK: 'A function calls itself too deeply, or data is nested too deeply',
  SANDBOX_UNAVAILABLE: 'The sandbox stopped at this row and was restarted. Change the row or the expression',
}
