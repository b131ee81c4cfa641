import {ERRORS} from './judge.ts'
import type {Played} from './scenario.ts'

const width = 100

/** Returns the matrix as text: for each scenario its fault, its goal, what was done and seen, and whether the goal held. */
export const printMatrix = (played: Played[]): string => {
  const lines = played.flatMap(({row, fault, goal, holds, seconds, runs, did, figures, errors, says}) => [
    `${row.padEnd(4)}${holds ? 'holds' : 'FAILS'}  ${fault}  (${seconds.toFixed(0)} s)`,
    ...wrap(`goal: ${goal}`),
    ...wrap(`done: ${tell(did)}`),
    ...wrap(`seen: ${tell({...(runs && {'runs judged': runs}), ...figures, ...wrongOf(errors)}) || 'as it must be'}`),
    ...says.slice(0, 5).flatMap(line => wrap(`! ${line.split('\n')[0]}`)),
    '',
  ])
  const kept = played.filter(({holds}) => holds).length
  return [...lines, `${kept} of ${played.length} rows hold`].join('\n')
}

const wrongOf = (errors: Played['errors']) => Object.fromEntries(ERRORS.flatMap(kind => (errors[kind] ? [[kind, errors[kind]]] : [])))

const tell = (counts: Record<string, number>) =>
  Object.entries(counts)
    .map(([name, count]) => `${Number.isInteger(count) ? count : count.toFixed(2)} ${name}`)
    .join(', ')

const wrap = (text: string) => {
  const lines = ['']
  for (const word of text.split(' ')) {
    if (`${lines.at(-1)} ${word}`.length > width) lines.push('')
    lines[lines.length - 1] = lines.at(-1) ? `${lines.at(-1)} ${word}` : word
  }
  return lines.map((line, at) => `    ${at ? '  ' : ''}${line}`)
}
