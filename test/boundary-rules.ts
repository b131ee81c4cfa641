import {posix} from 'node:path'
import {analyse} from 'scslre'
import type {Node, SourceFile} from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import {createVirtualFileSystem} from 'typescript/unstable/fs'
import {API} from 'typescript/unstable/sync'

/** A source file with its syntax tree and all nodes of the tree. */
export type Source = {path: string; tree: SourceFile; nodes: Node[]}
export type Rule = (source: Source) => {at: Node; says: string}[]

export const [fileLines, functionLines, handlerLines] = [300, 60, 25] as const

const isUnder = (path: string, ...folders: string[]) => folders.some(folder => path === folder || path.startsWith(folder))
const isTest = (path: string) => isUnder(path, 'test/')

type Import = {at: Node; target: string; names: string[]; typeOnly: boolean}

/** Returns every reference to another module: import, export from, import() and import types. */
const importsOf = ({path, nodes}: Source) =>
  nodes.flatMap((at): Import[] => {
    if (is.isImportDeclaration(at)) return [importOf(path, at, at.moduleSpecifier, isTypeOnly(at))]
    if (is.isExportDeclaration(at) && at.moduleSpecifier) return [importOf(path, at, at.moduleSpecifier, at.isTypeOnly)]
    if (is.isImportTypeNode(at)) return [importOf(path, at, at.argument.forEachChild(child => child) ?? at, true)]
    if (is.isCallExpression(at) && at.expression.getText() === 'import') return [importOf(path, at, at.arguments[0]!, false)]
    return []
  })

const importOf = (path: string, at: Node, specifier: Node, typeOnly: boolean): Import => {
  const name = specifier.getText().replace(/^['"`]|['"`]$/g, '')
  const target = name.startsWith('.') ? posix.join(posix.dirname(path), name) : name.replace(/^node:/, '')
  return {at, target, typeOnly, names: [...at.getText().matchAll(/\w+/g)].map(([word]) => word)}
}

const isTypeOnly = (node: Node) => /^import\s+type\b/.test(node.getText())
const isPackage = ({target}: Import, ...names: string[]) => names.some(name => target === name || target.startsWith(`${name}/`))

const folders = ['api/', 'workers/', 'shared/', 'sql/', 'test/']
const mayImport: Record<string, string[]> = {
  'api/': ['api/', 'shared/', 'sql/'],
  'workers/': ['workers/', 'shared/', 'sql/'],
  'shared/': ['shared/', 'sql/'],
  'sql/': ['sql/'],
  'test/': folders,
}

const importDirection: Rule = source => {
  const allowed = mayImport[folders.find(folder => source.path.startsWith(folder))!]!
  const wrong = importsOf(source).filter(({target}) => isUnder(target, ...folders, '../') && !isUnder(target, ...allowed))
  return wrong.map(({at, target}) => ({at, says: `imports ${target}`}))
}

/**
 * Finds groups of files that import each other in a cycle when they are loaded. The files of a group are in path order. Type imports and
 * `import()` do not count.
 */
export const findCycles = (sources: Source[]): string[][] => {
  const imports = new Map(
    sources.map(source => {
      const eager = importsOf(source).filter(({at, typeOnly}) => !typeOnly && !is.isCallExpression(at))
      return [source.path, eager.map(({target}) => target)]
    }),
  )
  const reach = (from: string, seen = new Set<string>()): Set<string> => {
    for (const target of imports.get(from) ?? []) if (!seen.has(target)) reach(target, seen.add(target))
    return seen
  }
  const reached = new Map([...imports.keys()].map(path => [path, reach(path)]))
  const inCycle = [...reached].filter(([path, all]) => all.has(path))
  return [
    ...Map.groupBy(inCycle, ([path, all]) =>
      [...all]
        .filter(other => reached.get(other)?.has(path))
        .toSorted()
        .join(),
    ).keys(),
  ].map(key => key.split(','))
}

/**
 * Finds imports of server code or server packages in clients, which run in a browser or on a computer without a database. Type imports are
 * allowed.
 */
const clientsAlone: Rule = source => {
  if (!isUnder(source.path, 'api/clients/')) return []
  const wrong = importsOf(source).filter(
    found =>
      !found.typeOnly &&
      ((isUnder(found.target, ...folders) && !isUnder(found.target, 'api/clients/')) || isPackage(found, ...serverPackages)),
  )
  return wrong.map(({at, target}) => ({at, says: `imports the server's ${target}`}))
}

const serverPackages = ['koa', '@koa/router', 'pg', 'pg-boss', 'slonik', 'pino']

const statement =
  /^\s*(insert\s+into\s|update\s+\S+(\s+as\s+\S+)?\s+set\s|delete\s+from\s|select\s+(.+\s)?from\s|select\s+\S+\(|with\s+\w+\s+as\s*\(|(create|alter|drop)\s+(or\s+replace\s+)?(unique\s+)?(table|index|type|extension|schema|database|view|function|sequence)\s|truncate\s+\w+\s*;?$|(listen|notify)\s+\w+\s*;?$)/is

/**
 * Finds SQL texts and imports of SQL drivers outside `sql/` and tests. Type imports are allowed. Queries of the CRM in `shared/crm/` are exempt,
 * although they begin with `select`.
 */
const sqlText: Rule = ({path, nodes, ...rest}) => {
  if (isUnder(path, 'sql/', 'test/')) return []
  const drivers = importsOf({path, nodes, ...rest}).filter(found => isPackage(found, 'pg', 'slonik') && !found.typeOnly)
  const texts = nodes.filter(node => {
    if (is.isTaggedTemplateExpression(node)) return /^sql\b/.test(node.tag.getText()) && node.template.getText() !== '``'
    if (isUnder(path, 'shared/crm/') && /^.\s*select\s/i.test(node.getText())) return false
    return (is.isStringLiteralLikeNode(node) || is.isTemplateHead(node)) && statement.test(node.text)
  })
  return [...drivers.map(({at, target}) => ({at, says: `imports ${target}`})), ...texts.map(at => ({at, says: 'holds SQL text'}))]
}

/**
 * Finds code that reads the environment outside the configuration, the settings file of the command line and `test/stack/`. Tests may pass the
 * whole environment to a child process.
 */
const environment: Rule = source => {
  if (isUnder(source.path, 'shared/config.ts', 'api/clients/cli/settings.ts', 'test/stack/')) return []
  const named = importsOf(source).filter(({target, names}) => target === 'process' && names.includes('env'))
  const read = source.nodes.filter(node => is.isIdentifier(node) && node.text === 'process' && readsEnvironment(node.parent))
  const wrong = read.filter(({parent}) => !(isTest(source.path) && is.isSpreadAssignment(parent.parent)))
  return [...named.map(({at}) => at), ...wrong].map(at => ({at, says: 'reads the environment'}))
}

const readsEnvironment = (parent: Node) =>
  /^(globalThis\.)?process\s*(\.\s*env\b|\[)/.test(parent.getText()) ||
  (is.isVariableDeclaration(parent) && /\benv\b/.test(parent.name.getText()))

const queueOwner: Rule = source => {
  if (isUnder(source.path, 'shared/queue.ts', 'workers/', 'test/')) return []
  return importsOf(source)
    .filter(found => isPackage(found, 'pg-boss'))
    .map(({at}) => ({at, says: 'imports pg-boss'}))
}

const outboundOwners = [
  'shared/crm/',
  'shared/billing/payment-provider.ts',
  'shared/accounts/identity-provider.ts',
  'shared/assistant/model.ts',
  'shared/storage/storage.ts',
  'shared/storage/s3.ts',
  'shared/schedules/fetch/',
  'shared/schedules/outbound/',
  'shared/notifications/mail.ts',
  'shared/telemetry/tracing-export.ts',
  'api/clients/',
]

const outboundCalls: Rule = source => {
  if (isUnder(source.path, ...outboundOwners, 'test/')) return []
  const clients = importsOf(source).filter(found => !found.typeOnly && isClient(found))
  return [...clients.map(({at}) => at), ...callsOf(source, outboundCall)].map(at => ({at, says: 'calls out'}))
}

const callsOf = ({nodes}: Source, callee: RegExp) =>
  nodes.filter(node => (is.isCallExpression(node) || is.isNewExpression(node)) && callee.test(node.expression.getText()))

const outboundCall = /^((globalThis\.)?fetch|(globalThis\.)?(WebSocket|EventSource)|https?\.(request|get)|createRemoteJWKSet)$/
const callers = ['undici', '@aws-sdk', 'openid-client', 'nodemailer', 'ssh2', '@opentelemetry/exporter-trace-otlp-http']
const sockets = ['https', 'http2', 'net', 'tls', 'dgram']
const isClient = (found: Import) =>
  isPackage(found, ...callers, ...sockets) ||
  (found.target === 'http' && ['request', 'get', 'Agent'].some(name => found.names.includes(name)))

const lengthOf = (node: Node, tree: SourceFile) =>
  tree.getLineAndCharacterOfPosition(node.end).line - tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1

const budgets: Rule = ({path, tree, nodes}) => {
  const lines = tree.text.trimEnd().split('\n').length
  const long = nodes.filter(node => isFunction(node) && lengthOf(node, tree) > limitOf(path, node))
  const says = (at: Node) => `${lengthOf(at, tree)} lines in one function, at most ${limitOf(path, at)}`
  return [
    ...(lines > fileLines ? [{at: tree, says: `${lines} lines, at most ${fileLines}`}] : []),
    ...long.map(at => ({at, says: says(at)})),
  ]
}

const limitOf = (path: string, node: Node) => (isUnder(path, 'api/routes/') && isHandler(node) ? handlerLines : functionLines)
const isFunction = (node: Node) =>
  is.isArrowFunction(node) ||
  is.isFunctionExpression(node) ||
  is.isFunctionDeclaration(node) ||
  is.isMethodDeclaration(node) ||
  is.isConstructorDeclaration(node)

/** Whether a node declares a handler: `async handle(…) {…}` or `handle: async (…) => {…}`. */
const isHandler = (node: Node) =>
  (is.isMethodDeclaration(node) && node.name.getText() === 'handle') ||
  (is.isPropertyAssignment(node.parent) && node.parent.name.getText() === 'handle')

const honestTests: Rule = source =>
  isTest(source.path) ? callsOf(source, excuse).map(at => ({at, says: 'excuses a test, or all the others'})) : []

const excuse = /^test(\.serial)?\.(only|skip|todo|failing)$/
const silenced = new RegExp(`(//|/\\*)\\s*@${'ts'}-(ignore|nocheck)`)
const checkedTypes: Rule = ({tree}) => (silenced.test(tree.text) ? [{at: tree, says: 'switches the type checker off'}] : [])

/**
 * Finds regular expressions whose time grows more than linearly with the number of one repeated character. Tests and `shortTexts` are exempt.
 * The library scslre cannot judge repetitions of several characters.
 */
const slowPatterns: Rule = ({path, nodes}) =>
  nodes.flatMap(at => {
    if (isTest(path) || !is.isRegularExpressionLiteral(at) || at.getText() in shortTexts) return []
    const [source, flags] = [at.getText().slice(1, at.getText().lastIndexOf('/')), at.getText().slice(at.getText().lastIndexOf('/') + 1)]
    const [report] = analyse({source, flags}, {maxReports: 1}).reports
    return report ? [{at, says: `takes long over many ${report.character.literal.source}`}] : []
  })

/** Patterns with superlinear time, each with the bound on its input. */
const shortTexts: Record<string, string> = {
  '/z+$/': 'an id of ours',
  '/\\/+$/': 'an address of the configuration, or of a command line',
  '/\\d+$/': 'a corner of a range, eleven characters',
  '/e.*$/': 'digits without an e, or a hundred characters of a float',
  '/=+$/': 'a digest in base64',
  "/^[^\\p{L}]*\\d[\\d\\s.,']*[^\\p{L}]*$/u": 'the first 300 characters of a cell',
  '/<[^>]*$|&\\w*$/': 'the 500 characters the CRM cuts rich text to',
  '/<[^>]*>|&nbsp;|\\s/g': 'the first 4,000 characters of rich text',
  '/%.*$/': 'one line of a header',
  '/^\\s*(\\d{1,9})\\s*(?:[-–]\\s*(\\d{1,9}))?\\s*$/': 'what a person types into a field of the widget',
  '/^-+|-+$/g': 'a name, on the laptop of whoever gave it',
  '/^(\\d*)(-?)(\\d*)$/': 'an option of a command line',
}

/**
 * Finds `==` and `===`, outside tests, on a value whose name ends like a secret or a value derived from one. Such values must be compared in
 * constant time or looked up by hash. Comparisons with a constant are allowed.
 */
const secretComparisons: Rule = ({path, nodes}) =>
  isUnder(path, 'test/', ...comparesItsOwn)
    ? []
    : nodes.flatMap(at =>
        is.isBinaryExpression(at) && /^[!=]==?$/.test(at.operatorToken.getText()) && isOfSecrets(at.left, at.right)
          ? [{at, says: 'compares a secret'}]
          : [],
      )

/** Files exempt from `secretComparisons`. The grant compares with its own state. The clients run on the computer of the person who signs in. */
const comparesItsOwn = ['shared/crm/grant.ts', 'api/clients/']
const isOfSecrets = (left: Node, right: Node) =>
  [left, right].some(side => secret.test(side.getText())) && ![left, right].some(side => isNoSecret(side))
const secret = /(secret|token|password|signature|digest|hmac|verifier|bearer)$/i
const isNoSecret = (side: Node) => /^(undefined|null|true|false|'[^']*'|[A-Z_]+|-?\d+)$/.test(side.getText()) || is.isTypeOfExpression(side)

export const rules = {
  importDirection,
  clientsAlone,
  sqlText,
  environment,
  queueOwner,
  outboundCalls,
  budgets,
  honestTests,
  checkedTypes,
  slowPatterns,
  secretComparisons,
}

const nodesBelow = (node: Node): Node[] => {
  const found: Node[] = [node]
  node.forEachChild(child => {
    found.push(...nodesBelow(child))
  })
  return found
}

/** Parses texts with the compiler's parser. Nothing is resolved or checked, so the files need not exist on disk. */
export const parse = (texts: [path: string, text: string][]): Source[] => {
  const files = Object.fromEntries(texts.map(([path, text], index) => [`/${index}/${path}`, text]))
  const config = JSON.stringify({files: Object.keys(files), compilerOptions: {noLib: true, noResolve: true, types: []}})
  const api = new API({cwd: '/', fs: createVirtualFileSystem({...files, '/tsconfig.json': config})})
  const {program} = api.updateSnapshot({openProject: '/tsconfig.json'}).getProjects()[0]!
  const parsed = texts.map(([path], index) => {
    const tree = program.getSourceFile(`/${index}/${path}`)!
    return {path, tree, nodes: nodesBelow(tree)}
  })
  api.close()
  return parsed
}
