import {styleText} from 'node:util'
import type {Output} from './supervisor.ts'

type Style = Parameters<typeof styleText>[0]

/** Colours text, only on a terminal with colours. Follows `NO_COLOR` and `FORCE_COLOR`. */
export const paint = (style: Style, text: string) => styleText(style, text, {stream: process.stdout})

const colours = ['cyan', 'magenta', 'yellow', 'green', 'blue', 'red'] as const
const levels: Record<number, Style> = {40: 'yellow', 50: 'red', 60: 'red'}

/** Returns a function that prints a line with the name of its process. Names have different colours. */
export const openOutput = (): Output => {
  const names: string[] = []
  return (name, line) => {
    if (!names.includes(name)) names.push(name)
    const label = paint(colours[names.indexOf(name) % colours.length]!, `${name.padEnd(8)}│`)
    process.stdout.write(`${label} ${readable(line)}\n`)
  }
}

/** Formats a JSON log line as time, message and the rest. Any other line stays unchanged. */
const readable = (line: string) => {
  if (!line.startsWith('{')) return line
  try {
    const {level, time, msg, name: _name, pid: _pid, hostname: _hostname, err, ...rest} = JSON.parse(line)
    const more = Object.keys(rest).length ? paint('dim', JSON.stringify(rest)) : ''
    const stack = err ? `\n${paint('dim', err.stack ?? JSON.stringify(err))}` : ''
    const words = levels[level] ? paint(levels[level], `${msg ?? ''}`) : (msg ?? '')
    return `${paint('dim', `${time}`.slice(11, 23))} ${words} ${more}${stack}`
  } catch {
    return line
  }
}

export const printTable = (rows: [label: string, value: string][]) => {
  const width = Math.max(...rows.map(([label]) => label.length))
  for (const [label, value] of rows) console.log(`  ${paint('dim', label.padEnd(width))}  ${value}`)
}
