import {globSync, readFileSync} from 'node:fs'
import {parse, parseAllDocuments, stringify} from 'yaml'

/** The data and variables while a template is rendered. */
type Scope = {dot: any; variables: Map<string, any>}
type Part =
  | {kind: 'text'; text: string}
  | {kind: 'print'; code: string}
  | {kind: 'assign'; name: string; code: string}
  | {kind: 'block'; action: 'if' | 'with' | 'range'; code: string; body: Part[]; otherwise: Part[]}

/**
 * Renders a Helm chart with only those parts of Go's templates and of Helm's functions that our chart uses. Anything else throws, so that the
 * chart cannot use what this renderer does not know.
 */
export const renderChart = (folder: string, {values = {}, release = 'demo'}: {values?: object; release?: string} = {}): any[] => {
  const read = (path: string) => readFileSync(`${folder}/${path}`, 'utf8')
  const chart = parse(read('Chart.yaml'))
  const dot = {
    Chart: {Name: chart.name, Version: chart.version, AppVersion: chart.appVersion},
    Release: {Name: release, Service: 'Helm'},
    Values: merge(parse(read('values.yaml')), values),
  }
  const defined = new Map<string, Part[]>()
  // Helm reads all definitions before it renders a file. So the `.tpl` files with the definitions come first.
  const files = globSync('templates/*', {cwd: folder}).toSorted(
    (a, b) => Number(b.endsWith('.tpl')) - Number(a.endsWith('.tpl')) || (a < b ? -1 : 1),
  )
  const texts = files.map(path => renderFile(read(path), {dot, defined}))
  const documents = texts.filter((_, at) => files[at]!.endsWith('.yaml')).flatMap(text => parseAllDocuments(text))
  for (const {errors} of documents) if (errors[0]) throw errors[0]
  return documents.map(document => document.toJS()).filter(document => document !== null)
}

const merge = (base: any, over: any): any => {
  if (!isMap(base) || !isMap(over)) return over === undefined ? base : over
  return Object.fromEntries([...new Set([...Object.keys(base), ...Object.keys(over)])].map(key => [key, merge(base[key], over[key])]))
}

const isMap = (value: any) => typeof value === 'object' && value !== null && !Array.isArray(value)

const renderFile = (text: string, {dot, defined}: {dot: object; defined: Map<string, Part[]>}) => {
  const tokens = tokensOf(text)
  const parts: Part[] = []
  while (tokens.length > 0) parts.push(...readParts(tokens, defined).parts)
  return renderParts(parts, {dot, variables: new Map([['$', dot]])}, defined)
}

type Token = {text: string} | {code: string}

/** Splits a template. A dash at the side of an action removes the white space there. Comments are actions without effect. */
const tokensOf = (text: string): Token[] => {
  const tokens: Token[] = []
  let from = 0
  let trims = false
  for (const found of text.matchAll(/\{\{(-)? ?(.*?) ?(-)?\}\}/gs)) {
    const before = trims ? text.slice(from, found.index).trimStart() : text.slice(from, found.index)
    tokens.push({text: found[1] ? before.trimEnd() : before})
    if (!found[2]!.startsWith('/*')) tokens.push({code: found[2]!.trim()})
    trims = Boolean(found[3])
    from = found.index + found[0].length
  }
  return [...tokens, {text: trims ? text.slice(from).trimStart() : text.slice(from)}]
}

/** Reads parts up to the `else` or `end` of the enclosing block. `ending` is that action, or empty at the end of the file. */
const readParts = (tokens: Token[], defined: Map<string, Part[]>): {parts: Part[]; ending: string} => {
  const parts: Part[] = []
  for (let token = tokens.shift(); token; token = tokens.shift()) {
    if ('text' in token) parts.push({kind: 'text', text: token.text})
    else if (token.code === 'end' || token.code.startsWith('else')) return {parts, ending: token.code}
    else if (/^(if|with|range)\b/.test(token.code)) parts.push(readBlock(token.code, tokens, defined))
    else if (token.code.startsWith('define ')) defined.set(JSON.parse(token.code.slice(7)), readParts(tokens, defined).parts)
    else if (/^\$\w+ :=/.test(token.code))
      parts.push({kind: 'assign', name: token.code.split(' ')[0]!, code: token.code.replace(/^\$\w+ := /, '')})
    else parts.push({kind: 'print', code: token.code})
  }
  return {parts, ending: ''}
}

const readBlock = (code: string, tokens: Token[], defined: Map<string, Part[]>): Part => {
  const [, action, rest] = /^(if|with|range) (.*)$/s.exec(code)!
  const {parts: body, ending} = readParts(tokens, defined)
  const otherwise =
    ending === 'end' ? [] : ending === 'else' ? readParts(tokens, defined).parts : [readBlock(ending.slice(5), tokens, defined)]
  return {kind: 'block', action: action as 'if', code: rest!, body, otherwise}
}

const renderParts = (parts: Part[], scope: Scope, defined: Map<string, Part[]>): string =>
  parts
    .map(part => {
      if (part.kind === 'text') return part.text
      if (part.kind === 'print') return String(evaluate(part.code, scope, defined) ?? '')
      if (part.kind === 'block') return renderBlock(part, scope, defined)
      scope.variables.set(part.name, evaluate(part.code, scope, defined))
      return ''
    })
    .join('')

const renderBlock = (part: Part & {kind: 'block'}, scope: Scope, defined: Map<string, Part[]>): string => {
  const [, key, item, code = part.code] = /^(\$\w+), (\$\w+) := (.*)$/s.exec(part.code) ?? []
  const value = evaluate(code, scope, defined)
  if (!isTrue(value)) return renderParts(part.otherwise, scope, defined)
  const inside = (dot: any, more: [string, any][] = []) =>
    renderParts(part.body, {dot, variables: new Map([...scope.variables, ...more])}, defined)
  if (part.action === 'if') return inside(scope.dot)
  if (part.action === 'with') return inside(value)
  // Go ranges over a map in the sorted order of its keys.
  const entries = Object.entries(value).toSorted(([a], [b]) => (Array.isArray(value) ? 0 : a < b ? -1 : 1))
  return entries
    .map(([name, one]) =>
      inside(
        one,
        key && item
          ? [
              [key, name],
              [item, one],
            ]
          : [],
      ),
    )
    .join('')
}

const isTrue = (value: any) => (typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value))

const evaluate = (code: string, scope: Scope, defined: Map<string, Part[]>): any => {
  let piped: any[] = []
  for (const words of splitPipe(wordsOf(code))) piped = [call([...words], piped, scope, defined)]
  return piped[0]
}

const wordsOf = (code: string): string[] => {
  const words = code.match(/"(?:[^"\\]|\\.)*"|\||\(|\)|[^\s()|"]+/g) ?? []
  const found: string[] = []
  for (let at = 0; at < words.length; at++) {
    if (words[at] !== '(') found.push(words[at]!)
    else {
      const start = at
      for (let depth = 1; depth > 0; ) depth += {'(': 1, ')': -1}[words[++at]!] ?? 0
      found.push(`(${words.slice(start + 1, at).join(' ')})`)
    }
  }
  return found
}

const splitPipe = (words: string[]): string[][] => {
  const parts: string[][] = [[]]
  for (const word of words) {
    if (word === '|') parts.push([])
    else parts.at(-1)!.push(word)
  }
  return parts
}

const call = ([name = '', ...given]: string[], piped: any[], scope: Scope, defined: Map<string, Part[]>): any => {
  const read = (word: string): any => {
    if (word.startsWith('(')) return evaluate(word.slice(1, -1), scope, defined)
    if (/^("|-?\d)/.test(word)) return JSON.parse(word)
    if (word === 'true' || word === 'false') return word === 'true'
    const [, root = '', path = ''] = /^(\$\w*)?(.*)$/.exec(word)!
    const keys = path.split('.').filter(Boolean)
    if (path && !path.startsWith('.')) throw new Error(`Unknown word in a template: ${word}`)
    return keys.reduce((at, key) => at?.[key], root ? scope.variables.get(root) : scope.dot)
  }
  const isFunction = name in functions || name === 'include'
  if (!isFunction) return read(name)
  const args = [...given.map(read), ...piped]
  if (name !== 'include') return functions[name]!(...args)
  const parts = defined.get(args[0])
  if (!parts) throw new Error(`No template is called ${args[0]}`)
  return renderParts(parts, {dot: args[1], variables: new Map([['$', args[1]]])}, defined)
}

const functions: Record<string, (...args: any[]) => any> = {
  and: (...args) => args.find(value => !isTrue(value)) ?? args.at(-1),
  contains: (part, text) => text.includes(part),
  default: (usual, value) => (isTrue(value) ? value : usual),
  dict: (...args) => Object.fromEntries(args.flatMap((key, at) => (at % 2 === 0 ? [[key, args[at + 1]]] : []))),
  eq: (a, b) => a === b,
  fail: message => {
    throw new Error(message)
  },
  ne: (a, b) => a !== b,
  nindent: (width, text) => `\n${text.replaceAll(/^/gm, ' '.repeat(width))}`,
  not: value => !isTrue(value),
  omit: (map, ...keys) => Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key))),
  printf: (format, ...args) => args.reduce((text, value) => text.replace('%s', () => value), format),
  quote: value => JSON.stringify(String(value ?? '')),
  required: (message, value) => {
    if (!isTrue(value)) throw new Error(message)
    return value
  },
  toYaml: value => stringify(value, {lineWidth: 0}).trimEnd(),
}
