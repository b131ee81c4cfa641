import {CallRefused, refuse} from './answers.ts'

export type Token = {kind: 'word' | 'text' | 'number' | 'mark' | 'end'; text: string; at: number}

/** Which escapes of a quote inside a text are accepted. */
export type Quote = 'both' | 'doubled' | 'backslash'

const rest = /(?<number>-?\d+(?:\.\d+)?(?![\w.]))|(?<word>[A-Za-z_$][\w.$]*)|(?<mark><=|>=|!=|<>|[=<>(),*])/
const texts: Record<Quote, RegExp> = {both: /'(?:[^'\\]|\\.|'')*'/, doubled: /'(?:[^']|'')*'/, backslash: /'(?:[^'\\]|\\.)*'/}
const patternOf = (quote: Quote) => new RegExp(`\\s+|(?<text>${texts[quote].source}|"(?:[^"\\\\]|\\\\.)*")|${rest.source}`, 'y')

export const tokenize = (query: string, quote: Quote): Token[] => {
  const tokens: Token[] = []
  const pattern = patternOf(quote)
  while (pattern.lastIndex < query.length) {
    const at = pattern.lastIndex
    const groups = pattern.exec(query)?.groups
    if (!groups) throw syntaxError(query, at)
    if (groups.text !== undefined) tokens.push({kind: 'text', text: unquote(groups.text, quote), at})
    else if (groups.number !== undefined) tokens.push({kind: 'number', text: groups.number, at})
    else if (groups.word !== undefined) tokens.push({kind: 'word', text: groups.word, at})
    else if (groups.mark !== undefined) tokens.push({kind: 'mark', text: groups.mark, at})
  }
  tokens.push({kind: 'end', text: '', at: query.length})
  return tokens
}

export const syntaxError = (query: string, at: number): CallRefused => {
  const before = query.slice(0, at).split('\n')
  const details = {near: query.slice(at, at + 20), line: before.length, column: before.at(-1)!.length + 1}
  return new CallRefused(refuse(400, 'SYNTAX_ERROR', details))
}

export const missingClause = (clause: string): CallRefused => new CallRefused(refuse(400, 'SYNTAX_ERROR', {clause}, 'missing clause'))

/** Removes the quotes and resolves the accepted escapes. */
const unquote = (text: string, quote: Quote) => {
  const inner = text.slice(1, -1)
  const escaped = quote === 'doubled' ? inner : inner.replace(/\\(.)/gs, '$1')
  return text[0] === "'" && quote !== 'backslash' ? escaped.replaceAll("''", "'") : escaped
}
