import {widthOf} from './table.ts'

/** Wraps a text at spaces. A word that is longer than the width gets its own line. */
export const wrap = (text: string, width: number): string[] => {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line && widthOf(line) + widthOf(word) + 1 > width) lines.push(word)
    else lines[lines.length - 1] = line ? `${line} ${word}` : word
  }
  return lines
}

/** Wraps each line with a hanging indent. A command stays on one line, so that a person can copy it. */
export const wrapLines = (text: string, width: number): string =>
  text
    .split('\n')
    .flatMap(line => {
      if (widthOf(line) <= width || /^\s*(lading|zcat|source|LADING_)\b/.test(line)) return [line]
      const [indent] = /^ */.exec(line)!
      const [first = '', ...rest] = wrap(line.trimStart().replaceAll(/ {3,}/g, '  '), Math.max(12, width - indent.length - 2))
      return [indent + first, ...rest.map(more => (indent ? `${indent}  ${more}` : more))]
    })
    .join('\n')
