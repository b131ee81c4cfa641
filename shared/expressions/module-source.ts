import {type AnyNode, type ModuleDeclaration, type Node, parse, type Statement} from 'acorn'
import {type Position, positionAt} from './position.ts'

export class ModuleProblem extends Error {
  readonly position: Position
  constructor(message: string, position: Position) {
    super(message)
    this.position = position
  }
}

/**
 * A module as a function body. `export` and imports are replaced by blanks, so that all text keeps its position. `exports`: each exported `name`, and
 * the `local` name of its value. `constants`: the names of all top-level declarations.
 */
export type ModuleSource = {code: string; exports: {name: string; local: string; position: Position}[]; constants: string[]}

type Rule = (statement: Statement | ModuleDeclaration, object: (node: Node, message: string) => ModuleProblem) => void

/**
 * Converts an ES module with named exports to a function body, because QuickJS would load a module asynchronously and resolve its imports. `check` is
 * called with each top-level statement, and throws to refuse the statement.
 */
export const readModule = (source: string, check: Rule): ModuleSource => {
  const program = parseModule(source)
  const object = (node: Node, message: string) => new ModuleProblem(message, positionAt(source, node.start))
  const found: ModuleSource = {code: source, exports: [], constants: []}
  for (const statement of program.body) {
    check(statement, object)
    for (const {start, end} of blanksOf(statement)) found.code = blank(found.code, start, end)
    if (statement.type === 'ExportDefaultDeclaration')
      throw object(statement, 'Export functions by name: `export const double = x => 2 * x`')
    if (statement.type === 'ExportAllDeclaration') throw object(statement, 'A library exports its own functions only')
    found.exports.push(...exportsOf(statement).map(({name, local, node}) => ({name, local, position: positionAt(source, node.start)})))
    found.constants.push(...constantsOf(statement))
  }
  return found
}

const parseModule = (source: string) => {
  try {
    return parse(source, {ecmaVersion: 2024, sourceType: 'module'})
  } catch (error) {
    if (error instanceof SyntaxError && 'pos' in error)
      throw new ModuleProblem(error.message.replace(/ \(\d+:\d+\)$/, ''), positionAt(source, Number(error.pos)))
    if (error instanceof RangeError) throw new ModuleProblem('The source is nested too deeply', {line: 1, column: 1})
    throw error
  }
}

const blank = (code: string, start: number, end: number) =>
  code.slice(0, start) + code.slice(start, end).replace(/[^\n\r\u2028\u2029]/g, ' ') + code.slice(end)

const blanksOf = (statement: Statement | ModuleDeclaration): {start: number; end: number}[] => {
  if (statement.type === 'ImportDeclaration') return [statement]
  if (statement.type !== 'ExportNamedDeclaration') return []
  return [statement.declaration ? {start: statement.start, end: statement.declaration.start} : statement]
}

const exportsOf = (statement: Statement | ModuleDeclaration): {name: string; local: string; node: Node}[] => {
  if (statement.type !== 'ExportNamedDeclaration') return []
  if (!statement.declaration)
    return statement.specifiers.map(({local, exported, ...node}) => ({name: nameOf(exported), local: nameOf(local), node: node as Node}))
  return declaredBy(statement.declaration).map(({name, node}) => ({name, local: name, node}))
}

const nameOf = (node: AnyNode) => (node.type === 'Identifier' ? node.name : node.type === 'Literal' ? String(node.value) : '')

const declaredBy = (statement: Statement | ModuleDeclaration): {name: string; node: Node}[] => {
  if (statement.type === 'FunctionDeclaration' || statement.type === 'ClassDeclaration')
    return [{name: statement.id.name, node: statement.id}]
  if (statement.type !== 'VariableDeclaration') return []
  return statement.declarations.flatMap(({id}) => (id.type === 'Identifier' ? [{name: id.name, node: id}] : []))
}

const constantsOf = (statement: Statement | ModuleDeclaration) => {
  const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
  return declared ? declaredBy(declared).map(({name}) => name) : []
}
