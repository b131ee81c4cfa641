import {LIMITS} from './limits.ts'
import {quickjsLines} from './position.ts'
import type {SandboxProgram} from './protocol.ts'

/** File name in stacks of the function that contains all expressions of a program. */
export const PROGRAM_FILE = 'program'

/**
 * Joins all expressions into one function, because one call per expression would cost as much as a short expression. Expressions cannot use names
 * with `$`, because the parser refuses unknown names. `refused`: the indexes of expressions that do not compile; each becomes `undefined`. `lines`:
 * the number of lines before each expression.
 */
export const programScript = (program: SandboxProgram, refused: ReadonlySet<number>): {script: string; lines: number[]} => {
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

/** Returns a script with one expression alone, to check whether QuickJS compiles it. */
export const expressionScript = (program: SandboxProgram, index: number) =>
  `((${parameters(program)}) => (row, value) => (\n${program.expressions[index]!.source}\n))`

const parameters = ({libraries}: SandboxProgram) => ['context', 'helpers', ...libraries.map(({namespace}) => namespace)].join(', ')
