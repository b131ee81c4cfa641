import {type AnyNode, type Expression, type Node, parseExpressionAt, tokenizer} from 'acorn'
import {LIMITS} from './limits.ts'
import {FORBIDDEN_PROPERTIES, GIVEN, GLOBALS, HELPERS} from './names.ts'
import {type Position, positionAt} from './position.ts'

/** The org's libraries by namespace, each with the names of its functions. */
export type Namespaces = Readonly<Record<string, readonly string[]>>

export type ParsedExpression = {
  /** Fields of the row that the expression reads, each once. Null if they cannot be determined (`row[name]`, `Object.keys(row)`). */
  fields: string[] | null
  readsValue: boolean
  namespaces: string[]
}

type ParseProblem = Position & {code: 'EXPRESSION_SYNTAX' | 'EXPRESSION_REFUSED'; message: string}
type ParseResult = {ok: true; parsed: ParsedExpression} | {ok: false; problem: ParseProblem}

/**
 * Parses one JavaScript expression and refuses forbidden constructs, with their position. The sandbox is safe without this check, which exists for
 * clear messages.
 */
export const parseExpression = (source: string, {namespaces = {}, columns}: KnownNames = {}): ParseResult => {
  const state: State = {namespaces, columns, fields: new Set(), wholeRow: false, readsValue: false, used: new Set(), depth: 0}
  try {
    if (source.length > LIMITS.sourceChars)
      throw new Objection('EXPRESSION_SYNTAX', `An expression has at most ${LIMITS.sourceChars} characters`, 0)
    visit(parseWhole(source), state, new Set())
  } catch (error) {
    return {ok: false, problem: problemOf(error, source)}
  }
  return {
    ok: true,
    parsed: {fields: state.wholeRow ? null : [...state.fields], readsValue: state.readsValue, namespaces: [...state.used]},
  }
}

/** Names that the expression may use. `columns`: the columns of the rows, if known; the expression may then read no others. */
type KnownNames = {namespaces?: Namespaces; columns?: readonly string[]}
type State = {
  namespaces: Namespaces
  columns: readonly string[] | undefined
  fields: Set<string>
  wholeRow: boolean
  readsValue: boolean
  used: Set<string>
  depth: number
}
type Scope = ReadonlySet<string>

class Objection extends Error {
  readonly code: ParseProblem['code']
  readonly offset: number
  constructor(code: ParseProblem['code'], message: string, offset: number) {
    super(message)
    this.code = code
    this.offset = offset
  }
}

const refusal = (node: Node, message: string) => new Objection('EXPRESSION_REFUSED', message, node.start)

const problemOf = (error: unknown, source: string): ParseProblem => {
  if (error instanceof Objection) return {code: error.code, message: error.message, ...positionAt(source, error.offset)}
  if (error instanceof SyntaxError && 'pos' in error)
    return {
      code: 'EXPRESSION_SYNTAX',
      message: error.message.replace(/ \(\d+:\d+\)$/, ''),
      ...positionAt(source, Number(error.pos)),
    }
  if (error instanceof RangeError) return {code: 'EXPRESSION_SYNTAX', message: tooDeep, line: 1, column: 1}
  throw error
}

const tooDeep = 'The expression is nested too deeply; split it into smaller ones'

/** Options of the parser. Source is parsed as module code, in which `await` is always a keyword and `<!--` begins no comment. */
const options = {ecmaVersion: 2024, sourceType: 'module', preserveParens: true} as const

const parseWhole = (source: string): Expression => {
  if (!source.trim()) throw new Objection('EXPRESSION_SYNTAX', 'The expression is empty', 0)
  const statement = STATEMENT.exec(source)
  if (statement)
    throw new Objection('EXPRESSION_REFUSED', `An expression has no statements, and \`${statement[2]}\` begins one`, statement[1]!.length)
  const node = parseExpressionAt(source, 0, options)
  const rest = tokenizer(source.slice(node.end), options).getToken()
  if (rest.type.label !== 'eof') {
    const next = rest.type.label
    const message =
      next === ';'
        ? 'An expression is one value, without `;`'
        : `Unexpected \`${source.slice(node.end + rest.start, node.end + rest.end)}\``
    throw new Objection('EXPRESSION_SYNTAX', message, node.end + rest.start)
  }
  return node
}

const STATEMENT = /^(\s*)(var|let|const|if|for|while|do|switch|try|throw|return|debugger|export|with|break|continue)\b/

const visit = (node: AnyNode, state: State, scope: Scope): void => {
  const known = KINDS[node.type as keyof typeof KINDS] as Visit | undefined
  if (!known) throw refusal(node, REFUSED[node.type] ?? `An expression may not contain this (${node.type})`)
  if (++state.depth > LIMITS.sourceDepth) throw new Objection('EXPRESSION_SYNTAX', tooDeep, node.start)
  known(node as never, state, scope)
  state.depth--
}

type Visit = (node: never, state: State, scope: Scope) => void
type NodeOf<Type extends string> = Extract<AnyNode, {type: Type}>

const each = (nodes: readonly (AnyNode | null)[], state: State, scope: Scope) => {
  for (const node of nodes) if (node) visit(node, state, scope)
}

/** The node types that an expression may contain. All other types are refused. */
const KINDS = {
  Literal: () => {},
  TemplateElement: () => {},
  ParenthesizedExpression: (node: NodeOf<'ParenthesizedExpression'>, state: State, scope: Scope) => visit(node.expression, state, scope),
  ChainExpression: (node: NodeOf<'ChainExpression'>, state: State, scope: Scope) => visit(node.expression, state, scope),
  SpreadElement: (node: NodeOf<'SpreadElement'>, state: State, scope: Scope) => visit(node.argument, state, scope),
  ArrayExpression: (node: NodeOf<'ArrayExpression'>, state: State, scope: Scope) => each(node.elements, state, scope),
  ObjectExpression: (node: NodeOf<'ObjectExpression'>, state: State, scope: Scope) => each(node.properties, state, scope),
  SequenceExpression: (node: NodeOf<'SequenceExpression'>, state: State, scope: Scope) => each(node.expressions, state, scope),
  TemplateLiteral: (node: NodeOf<'TemplateLiteral'>, state: State, scope: Scope) => each(node.expressions, state, scope),
  BinaryExpression: (node: NodeOf<'BinaryExpression'>, state: State, scope: Scope) => each([node.left, node.right], state, scope),
  LogicalExpression: (node: NodeOf<'LogicalExpression'>, state: State, scope: Scope) => each([node.left, node.right], state, scope),
  ConditionalExpression: (node: NodeOf<'ConditionalExpression'>, state: State, scope: Scope) =>
    each([node.test, node.consequent, node.alternate], state, scope),
  UnaryExpression: (node: NodeOf<'UnaryExpression'>, state: State, scope: Scope) => {
    if (node.operator === 'delete') throw refusal(node, 'An expression may not delete')
    visit(node.argument, state, scope)
  },
  CallExpression: (node: NodeOf<'CallExpression'>, state: State, scope: Scope) => each([node.callee, ...node.arguments], state, scope),
  Identifier: (node: NodeOf<'Identifier'>, state: State, scope: Scope) => readName(node, state, scope),
  MemberExpression: (node: NodeOf<'MemberExpression'>, state: State, scope: Scope) => readMember(node, state, scope),
  Property: (node: NodeOf<'Property'>, state: State, scope: Scope) => {
    if (node.kind !== 'init' || node.method) throw refusal(node, functionsAreArrows)
    readKey(node, state, scope)
    visit(node.value, state, scope)
  },
  ArrowFunctionExpression: (node: NodeOf<'ArrowFunctionExpression'>, state: State, scope: Scope) => {
    if (node.async) throw refusal(node, REFUSED.AwaitExpression!)
    if (!node.expression) throw refusal(node.body, 'A function in an expression is `x => value`, without braces and statements')
    const inner = new Set([...scope, ...node.params.flatMap(namesIn)])
    for (const param of node.params) bind(param, state, inner)
    visit(node.body, state, inner)
  },
}

const functionsAreArrows = 'A function in an expression is an arrow: `x => value`'
const REFUSED: Record<string, string> = {
  AssignmentExpression: 'An expression may not assign; compare with `===`',
  UpdateExpression: 'An expression may not change a value; write `x + 1`',
  NewExpression: 'An expression may not use `new`; the helpers make what is needed, `helpers.date` for instance',
  ThisExpression: 'An expression has no `this`; the row is `row`',
  ImportExpression: 'An expression may not import; an administrator can publish a library',
  AwaitExpression: 'An expression cannot wait: no async, await or yield',
  YieldExpression: 'An expression cannot wait: no async, await or yield',
  FunctionExpression: functionsAreArrows,
  ClassExpression: 'An expression may not declare a class',
  TaggedTemplateExpression: 'A template may not be tagged; call the function instead',
  MetaProperty: 'An expression cannot use `import.meta`',
}

const readName = (node: NodeOf<'Identifier'>, state: State, scope: Scope) => {
  const {name} = node
  if (scope.has(name)) return
  if (name === 'row') state.wholeRow = true
  else if (name === 'value') state.readsValue = true
  else if (Object.hasOwn(state.namespaces, name)) state.used.add(name)
  else if (!KNOWN.has(name)) throw refusal(node, unknownName(name, state))
}

const KNOWN = new Set<string>([...GIVEN, ...GLOBALS])

const unknownName = (name: string, {namespaces}: State) => {
  if ((HELPERS as readonly string[]).includes(name)) return `\`${name}\` is not known here; write \`helpers.${name}\``
  const libraries = Object.keys(namespaces)
  return `\`${name}\` is not known here. An expression has row, value, context, helpers, Math, JSON${libraries.length ? `, ${libraries.join(', ')}` : ''}; a column is \`row.${name}\``
}

const readMember = (node: NodeOf<'MemberExpression'>, state: State, scope: Scope) => {
  const name = node.computed ? textOf(node.property) : (node.property as NodeOf<'Identifier'>).name
  const {object} = node
  const isColumn = object.type === 'Identifier' && object.name === 'row' && !scope.has('row')
  if (name !== null && !isColumn && FORBIDDEN_PROPERTIES.has(name)) throw refusal(node.property, `An expression may not read \`${name}\``)
  if (name !== null && object.type === 'Identifier' && !scope.has(object.name)) {
    if (isColumn) {
      if (state.columns && !state.columns.includes(name)) throw refusal(node.property, `The file has no column "${name}"`)
      return void state.fields.add(name)
    }
    const members = object.name === 'helpers' ? HELPERS : Object.hasOwn(state.namespaces, object.name) && state.namespaces[object.name]
    if (members && !(members as readonly string[]).includes(name))
      throw refusal(node.property, `\`${object.name}\` has no function \`${name}\`; it has ${members.join(', ')}`)
  }
  visit(object, state, scope)
  if (node.computed) visit(node.property, state, scope)
  else if (node.property.type === 'PrivateIdentifier') throw refusal(node.property, 'An expression has no private names')
}

const readKey = (node: {key: AnyNode; computed: boolean}, state: State, scope: Scope) => {
  const name = !node.computed && node.key.type === 'Identifier' ? (node.key as NodeOf<'Identifier'>).name : textOf(node.key)
  if (name !== null && FORBIDDEN_PROPERTIES.has(name)) throw refusal(node.key, `An expression may not name \`${name}\``)
  if (node.computed) visit(node.key, state, scope)
}

/** Returns the literal name in brackets, or null for a computed name. */
const textOf = (node: AnyNode): string | null => {
  if (node.type === 'ParenthesizedExpression') return textOf((node as NodeOf<'ParenthesizedExpression'>).expression)
  if (node.type === 'Literal') return String((node as NodeOf<'Literal'>).value)
  if (node.type !== 'TemplateLiteral') return null
  const {quasis, expressions} = node as NodeOf<'TemplateLiteral'>
  return expressions.length ? null : (quasis[0]?.value.cooked ?? null)
}

const namesIn = (node: AnyNode): string[] => {
  if (node.type === 'Identifier') return [node.name]
  if (node.type === 'AssignmentPattern') return namesIn(node.left)
  if (node.type === 'RestElement') return namesIn(node.argument)
  if (node.type === 'Property') return namesIn(node.value)
  if (node.type === 'ArrayPattern') return node.elements.flatMap(element => (element ? namesIn(element) : []))
  if (node.type === 'ObjectPattern') return node.properties.flatMap(namesIn)
  return []
}

/** Visits a parameter. Its names are already in scope; its defaults and computed keys are expressions. */
const bind = (node: AnyNode, state: State, scope: Scope): void => {
  if (node.type === 'AssignmentPattern') {
    bind(node.left, state, scope)
    visit(node.right, state, scope)
  } else if (node.type === 'RestElement') bind(node.argument, state, scope)
  else if (node.type === 'Property') {
    readKey(node, state, scope)
    bind(node.value, state, scope)
  } else if (node.type === 'ArrayPattern') for (const element of node.elements) element && bind(element, state, scope)
  else if (node.type === 'ObjectPattern') for (const property of node.properties) bind(property, state, scope)
}
