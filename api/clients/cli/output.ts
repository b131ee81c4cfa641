import {styleText} from 'node:util'
import {moment} from './phrases.ts'
import {type Column, formatPlain, formatTable} from './table.ts'

type Style = Parameters<typeof styleText>[0]
type Stream = NodeJS.WriteStream

/**
 * The output of a command. Results go to standard output; notes, warnings, progress and errors go to standard error. With `json`, a result
 * is one document, or one line per event; notes, warnings and progress are omitted.
 */
export type Output = ReturnType<typeof openOutput>

type Streams = {out: Stream; err: Stream; columns: number | null; isDumb?: boolean}

export const openOutput = (json: boolean, {out, err, columns, isDumb = false}: Streams) => {
  const write = (stream: Stream, text: string) => void stream.write(`${text}\n`)
  const width = () => out.columns || err.columns || columns || 80
  const style = (format: Style, text: string, stream: Stream = out) => styleText(format, text, {stream})
  const lines = (text: string | string[]) => {
    if (!json) for (const line of [text].flat()) write(out, line)
  }
  let dateFormat: string | undefined
  return {
    json,
    /** True if progress lines can be redrawn in place. */
    isLive: Boolean(err.isTTY) && !json && !isDumb,
    isTerminal: Boolean(out.isTTY),
    out,
    err,
    width,
    style,
    lines,
    answer(document: unknown, text: string | string[] | (() => string | string[])) {
      if (json) write(out, JSON.stringify(document, null, 2))
      else lines(typeof text === 'function' ? text() : text)
    },
    table(columns: readonly Column[], rows: readonly unknown[][]): string[] {
      if (!out.isTTY) return formatPlain(columns, rows)
      const [heads, ...rest] = formatTable(columns, rows, width())
      return heads === undefined ? [] : [style('bold', heads), ...rest]
    },
    /** Formats a time: short in a terminal, the full timestamp elsewhere. */
    time: (iso: string | null | undefined, timeZone?: string) =>
      out.isTTY ? moment(iso, {...(dateFormat && {dateFormat}), ...(timeZone && {timeZone})}) : (iso ?? '-'),
    useDateFormat(format: string | undefined) {
      dateFormat = format
    },
    event(document: object, text?: string) {
      if (json) write(out, JSON.stringify(document))
      else if (text !== undefined) write(out, text)
    },
    note(text: string) {
      if (!json) write(err, text)
    },
    warn(text: string) {
      if (!json) write(err, `${style('yellow', 'Warning:', err)} ${text}`)
    },
  }
}
