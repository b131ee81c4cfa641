/** A position in source code: line and column from 1, the column in UTF-16 units as in editors. */
export type Position = {line: number; column: number}

export const positionAt = (source: string, offset: number): Position => {
  const before = source.slice(0, offset).split(/\r\n|[\n\r\u2028\u2029]/)
  return {line: before.length, column: before.at(-1)!.length + 1}
}

/** Splits source code into lines as QuickJS counts them: only \n ends a line. */
export const quickjsLines = (source: string): string[] => source.split('\n')

/**
 * Returns the position of the topmost frame of a file in a QuickJS stack, or null. Columns in the stack count code points. `linesBefore`: the number
 * of lines of the compiled file before the source code.
 */
export const positionInStack = (stack: string, file: string, source: string, linesBefore: number): Position | null => {
  const at = stack.split('\n').find(frame => frame.includes(`${file}:`))
  const found = at && /:(\d+):(\d+)\)?$/.exec(at.trim())
  if (!found) return null
  const lines = quickjsLines(source)
  const line = Math.min(Math.max(1, Number(found[1]) - linesBefore), lines.length)
  const text = lines[line - 1]!
  const column = [...text].slice(0, Number(found[2]) - 1).join('').length
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0)
  return positionAt(source, before + Math.min(column, text.length))
}
