import {CallRefused, refuse} from './answers.ts'

export type Token = {kind: 'word' | 'text' | 'number' | 'mark' | 'end'; text: string; at: number}

const pattern =
  /\s+|(?<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*")|(?<number>-?\d+(?:\.\d+)?(?![\w.]))|(?<word>[A-Za-z_$][\w.$]*)|(?<mark><=|>=|!=|<>|[=<>(),*])/y

export const tokenize = (query: string): Token[] => {
  const tokens: Token[] = []
  pattern.lastIndex = 0
  while (pattern.lastIndex < query.length) {
    const at = pattern.lastIndex
    const groups = pattern.exec(query)?.groups
    if (!groups) throw syntaxError(query, at)
    if (groups.text !== undefined) tokens.push({kind: 'text', text: unquote(groups.text), at})
    else if (groups.number !== undefined) tokens.push({kind: 'number', text: groups.number, at})
    else if (groups.word !== undefined) tokens.push({kind: 'word', text: groups.word, at})
    else if (groups.mark !== undefined) tokens.push({kind: 'mark', text: groups.mark, at})
  }
  tokens.push({kind: 'end', text: '', at: query.length})
  return tokens
}

/** Where the query stopped making sense: line and column from 1, and the text there. */
export const syntaxError = (query: string, at: number): CallRefused => {
  const before = query.slice(0, at).split('\n')
  const details = {near: query.slice(at, at + 20), line: before.length, column: before.at(-1)!.length + 1}
  return new CallRefused(refuse(400, 'SYNTAX_ERROR', details))
}

export const missingClause = (clause: string): CallRefused => new CallRefused(refuse(400, 'SYNTAX_ERROR', {clause}, 'missing clause'))

/** A backslash escapes; two quotes are one. */
const unquote = (text: string) =>
  text
    .slice(1, -1)
    .replace(/\\(.)/gs, '$1')
    .replaceAll(text[0] === "'" ? "''" : '\u0000', text[0] === "'" ? "'" : '')
