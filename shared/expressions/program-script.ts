import {LIMITS} from './limits.ts'
import {quickjsLines} from './position.ts'
import type {Program} from './protocol.ts'

/** The name in stacks of the function that holds all of a program's expressions. */
export const PROGRAM_FILE = 'program'

/**
 * All expressions of a program in one function: a call for each would cost as much as a short expression does. Names with `$` are ours;
 * no expression can name them, since the parser knows every name that it lets pass. `lines` is how many lines precede each expression.
 */
export const programScript = (program: Program, refused: ReadonlySet<number>): {script: string; lines: number[]} => {
  const lines: number[] = []
  let script = `(($settle, $fail, $began, ${parameters(program)}) => (row, $out, $alone, $at) => {"use strict"; let $value, $chars = 0;\n`
  let line = 1
  program.expressions.forEach(({source, value}, index) => {
    const more = quickjsLines(source).length - 1
    const text = refused.has(index) ? `undefined${'\n'.repeat(more)}` : source
    script += `try { if ($alone) $began($at, ${index}); const value = ${value === null ? 'undefined' : `row[${JSON.stringify(value)}]`}; $value = (\n`
    lines.push(line + 1)
    script += `${text}\n); if (typeof $value === 'string' && $value.length <= ${LIMITS.resultChars}) $chars += $value.length + 3; else $value = $settle($value) }\n`
    script += `catch ($error) { $value = $fail($out.length, ${index}, $error) }\n$out.push($value);\n`
    line += 5 + more
  })
  return {script: `${script}return $chars })`, lines}
}

/** One expression alone, to see whether QuickJS compiles it. */
export const expressionScript = (program: Program, index: number) =>
  `((${parameters(program)}) => (row, value) => (\n${program.expressions[index]!.source}\n))`

const parameters = ({libraries}: Program) => ['context', 'helpers', ...libraries.map(({namespace}) => namespace)].join(', ')
