import type {AnyNode, Identifier, ModuleDeclaration, Node, Statement} from 'acorn'
import {LIMITS} from './limits.ts'
import {ModuleProblem, type ModuleSource, readModule} from './module-source.ts'

/**
 * The top level may contain only functions and constants. A constant may contain only plain data, functions, regular expressions, and Maps and Sets
 * of these, so that no data of one row reaches the next. Imports and asynchronous code are refused. Getters, computed keys, keys such as `toString`,
 * and variables named Map, Set or Object are refused too, because they would allow closures with state. So is any assignment to the name of a
 * top-level function, but only with `isNew`: earlier builds published libraries with such assignments, and their runs go on.
 */
export const readLibrarySource = (source: string, isNew: boolean): ModuleSource => {
  if (source.length > LIMITS.libraryChars)
    throw new ModuleProblem(`A library's source has at most ${LIMITS.libraryChars} characters`, {line: 1, column: 1})
  const functions = new Set<string>()
  const targets: {name: string; problem: ModuleProblem}[] = []
  const found = readModule(source, (statement, object) => {
    const stray = strayStatement(statement) ?? findBelow(statement, isRefused)
    if (stray) throw object(stray, REFUSED[stray.type] ?? topLevel)
    const comment = findBelow(statement, node => isOldComment(node, source))
    if (comment) throw object(comment, 'Put a space after `<`, because `<!--` begins a comment in older JavaScript')
    functions.add(functionOf(statement))
    for (const target of listTargets(statement)) targets.push({name: target.name, problem: object(target, reassigned)})
  })
  const target = isNew && targets.find(({name}) => functions.has(name))
  if (target) throw target.problem
  return found
}

const topLevel = 'The top level of a library may contain only functions and constants. Move this into a function'
const reassigned = 'A function at the top level has this name and cannot be assigned. Choose another name for the variable'
const waits = 'A library cannot wait: no async and no await'
const REFUSED: Record<string, string> = {
  ImportDeclaration: 'A library cannot import. Use the built-in `helpers`',
  ImportExpression: 'A library cannot import. Use the built-in `helpers`',
  MetaProperty: 'A library cannot use `import.meta`',
  VariableDeclaration: 'Declare it with `const`, because a library keeps no state between rows',
  ClassDeclaration: 'A class belongs inside the function that uses it',
  CallExpression: 'A constant is plain data, a function or a regular expression; call this inside a function',
  NewExpression: 'A constant may be a `new Map(…)` or `new Set(…)` of plain data; make others inside a function',
  AwaitExpression: waits,
  FunctionDeclaration: waits,
  FunctionExpression: waits,
  ArrowFunctionExpression: waits,
  ForOfStatement: waits,
  Property: 'An object at the top level has plain keys, without getters, setters, computed names, toString, valueOf and __proto__',
  Identifier: 'Map, Set and Object are names of the language. Choose another name',
}

const TRUSTED = ['Map', 'Set', 'Object']

/**
 * JavaScript calls functions with these keys implicitly, when an operator, a template or brackets use an object while the library loads. Through
 * `__proto__`, an object would inherit such functions.
 */
const RUN_UNASKED = new Set(['toString', 'valueOf', '__proto__'])
const keyOf = (key: AnyNode) => (key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : '')

type SourcePlace = Statement | ModuleDeclaration

const strayStatement = (statement: SourcePlace): (Node & {type: string}) | null => {
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

/**
 * Returns whether a node is part of `<!--`. A library runs as a script, in which `<!--` begins a comment, but is parsed as a module, in which `<!--`
 * is three operators.
 */
const isOldComment = (node: AnyNode, source: string) =>
  node.type === 'UpdateExpression' && source.slice(node.start - 2, node.start + 2) === '<!--'

/** Returns the name of a top-level function; empty for any other statement. */
const functionOf = (statement: SourcePlace): string => {
  const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
  return declared?.type === 'FunctionDeclaration' ? declared.id.name : ''
}

/** Lists the variables that a statement assigns: by an operator, by `++` or `--`, or as the variable of a loop. */
const listTargets = (statement: SourcePlace): Identifier[] => {
  const found: Identifier[] = []
  const add = (node: AnyNode | null): void => {
    if (node?.type === 'Identifier') found.push(node)
    else if (node?.type === 'ArrayPattern') for (const one of node.elements) add(one)
    else if (node?.type === 'ObjectPattern') for (const one of node.properties) add(one.type === 'Property' ? one.value : one.argument)
    else if (node?.type === 'AssignmentPattern') add(node.left)
    else if (node?.type === 'RestElement') add(node.argument)
  }
  findBelow(statement, node => {
    if (node.type === 'AssignmentExpression' || node.type === 'ForInStatement' || node.type === 'ForOfStatement') add(node.left)
    if (node.type === 'UpdateExpression') add(node.argument)
    return false
  })
  return found
}

/** The search is not recursive, because the source may be nested as deeply as the parser allows. */
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
