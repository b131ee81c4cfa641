import type {AnyNode, ModuleDeclaration, Node, Statement} from 'acorn'
import {LIMITS} from './limits.ts'
import {ModuleProblem, type ModuleSource, readModule} from './module-source.ts'

/**
 * Reads a library's source. At its top level stand functions and constants only, and a constant is plain data, a function or a regular
 * expression: nothing there can hold what one row leaves for the next. Getters, computed keys, what turns an object into text or a number,
 * and own names for Map, Set and Object are refused because a closure with a memory could come out of them.
 */
export const readLibrarySource = (source: string): ModuleSource => {
  if (source.length > LIMITS.libraryChars)
    throw new ModuleProblem(`A library's source has at most ${LIMITS.libraryChars} characters`, {line: 1, column: 1})
  return readModule(source, (statement, object) => {
    const stray = strayStatement(statement) ?? findBelow(statement, isRefused)
    if (stray) throw object(stray, REFUSED[stray.type] ?? topLevel)
    const comment = findBelow(statement, node => isOldComment(node, source))
    if (comment) throw object(comment, 'Put a space after `<`: `<!--` once began a comment')
  })
}

const topLevel = 'At its top level a library has functions and constants only, so that no row can leave anything for the next'
const waits = 'A library cannot wait: no async and no await'
const REFUSED: Record<string, string> = {
  ImportDeclaration: 'A library may not import; it has the built-in `helpers`',
  ImportExpression: 'A library may not import; it has the built-in `helpers`',
  MetaProperty: 'A library may not ask about its module',
  VariableDeclaration: 'Declare it with `const`: a library keeps nothing from one row to the next',
  ClassDeclaration: 'A class belongs inside the function that uses it',
  CallExpression: 'A constant is plain data, a function or a regular expression; call this inside a function',
  NewExpression: 'A constant may be a `new Map(…)` or `new Set(…)` of plain data; make others inside a function',
  AwaitExpression: waits,
  FunctionDeclaration: waits,
  FunctionExpression: waits,
  ArrowFunctionExpression: waits,
  ForOfStatement: waits,
  Property: 'An object at the top level has plain keys, without getters, setters, computed names, toString, valueOf and __proto__',
  Identifier: 'Map, Set and Object are the language’s; choose another name',
}

const TRUSTED = ['Map', 'Set', 'Object']

/** Functions of these names run while the library loads, where an object stands in an operator, a template or brackets. */
const RUN_UNASKED = new Set(['toString', 'valueOf', '__proto__'])
const keyOf = (key: AnyNode) => (key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : '')

type Place = Statement | ModuleDeclaration

/** The first node of a top-level statement that does not belong there. */
const strayStatement = (statement: Place): (Node & {type: string}) | null => {
  if (statement.type === 'ExportNamedDeclaration')
    return statement.source
      ? {...statement, type: 'ImportDeclaration'}
      : statement.declaration
        ? strayStatement(statement.declaration)
        : null
  if (statement.type === 'FunctionDeclaration') return isNamed(statement.id, ...TRUSTED) ? statement.id : null
  if (statement.type.startsWith('Export')) return null
  if (statement.type !== 'VariableDeclaration' || statement.kind !== 'const') return statement
  for (const {id, init} of statement.declarations) {
    if (id.type !== 'Identifier' || isNamed(id, ...TRUSTED)) return id
    const stray = strayValue(init!)
    if (stray) return stray
  }
  return null
}

const strayIn = (nodes: readonly (AnyNode | null | undefined)[]): AnyNode | null => {
  for (const node of nodes) {
    const stray = node ? strayValue(node) : null
    if (stray) return stray
  }
  return null
}

const strayValue = (node: AnyNode): AnyNode | null => {
  switch (node.type) {
    case 'Literal':
    case 'Identifier':
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
      return null
    case 'TemplateLiteral':
      return strayIn(node.expressions)
    case 'ArrayExpression':
      return strayIn(node.elements)
    case 'ObjectExpression':
      return strayIn(node.properties)
    case 'Property':
      return node.kind !== 'init' || node.computed || RUN_UNASKED.has(keyOf(node.key)) ? node : strayValue(node.value as AnyNode)
    case 'SpreadElement':
    case 'UnaryExpression':
      return strayValue(node.argument)
    case 'ParenthesizedExpression':
    case 'ChainExpression':
      return strayValue(node.expression)
    case 'BinaryExpression':
    case 'LogicalExpression':
      return strayIn([node.left, node.right])
    case 'ConditionalExpression':
      return strayIn([node.test, node.consequent, node.alternate])
    case 'MemberExpression':
      return strayIn([node.object, node.computed ? node.property : null])
    case 'NewExpression':
      return isNamed(node.callee, 'Map', 'Set') ? strayIn(node.arguments) : node
    case 'CallExpression':
      return isFreeze(node.callee) ? strayIn(node.arguments) : node
    default:
      return node
  }
}

const isNamed = (node: AnyNode, ...names: string[]) => node.type === 'Identifier' && names.includes(node.name)
const isFreeze = (node: AnyNode) =>
  node.type === 'MemberExpression' && !node.computed && isNamed(node.object, 'Object') && isNamed(node.property, 'freeze')

const isRefused = (node: AnyNode) =>
  node.type === 'ImportExpression' ||
  (node.type === 'MetaProperty' && node.meta.name === 'import') ||
  node.type === 'AwaitExpression' ||
  ('async' in node && node.async === true)

/** In a script, which a library is run as, `<!--` begins a comment; in a module, as which it is read, it is three operators. */
const isOldComment = (node: AnyNode, source: string) =>
  node.type === 'UpdateExpression' && source.slice(node.start - 2, node.start + 2) === '<!--'

/** Depth first, without recursion: a source may nest as deep as the parser goes. */
const findBelow = (root: AnyNode, matches: (node: AnyNode) => boolean): AnyNode | null => {
  const open: unknown[] = [root]
  while (open.length) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null) continue
    if ('type' in next && matches(next as AnyNode)) return next as AnyNode
    open.push(...Object.values(next))
  }
  return null
}
