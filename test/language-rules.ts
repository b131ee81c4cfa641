import type {Node} from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import type {Source} from './boundary-rules.ts'

export type Finding = {path: string; says: string}

/** Metaphors that this project formerly used for standard terms. `docs/glossary.md` names the terms. */
export const bannedWords = new Set([
  'bereft',
  'desk',
  'doomed',
  'emptying',
  'foretell',
  'guest',
  'guests',
  'household',
  'hurry',
  'kin',
  'laid',
  'lanes',
  'lay',
  'outside',
  'patience',
  'patiently',
  'rehearsal',
  'rehearse',
  'rhythm',
  'shelf',
  'silence',
  'silences',
  'standing',
  'struck',
  'taking',
  'tell',
  'told',
  'whoever',
  'whys',
  'witness',
  'world',
  'yard',
])

/** Participles, pronouns and other words that name no role. A type is a noun: `CreateRunInput`, `RunRow`, `MatchResult`. */
export const bannedTypes = new Set([
  'Asked',
  'Asker',
  'Asking',
  'Beside',
  'Besides',
  'Came',
  'Found',
  'Given',
  'Held',
  'Kept',
  'Known',
  'Made',
  'Named',
  'Of',
  'Place',
  'Said',
  'Sent',
  'Settled',
  'Standing',
  'Surroundings',
  'Taken',
  'Told',
  'Tools',
  'Wanted',
  'Whose',
  'Why',
])

const wordsOf = (name: string) => name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map(word => word.toLowerCase())
const findBanned = (name: string) => wordsOf(name).filter(word => bannedWords.has(word))

type Declaration = {name: string; node: Node; isExported: boolean; isType: boolean}

const isExported = (node: Node) => /^export\b/.test(node.getText())

/** Returns the types, functions, classes and constants that a module declares at its top level. */
const declarationsOf = ({tree}: Source): Declaration[] =>
  tree.statements.flatMap((node): Declaration[] => {
    if (is.isTypeAliasDeclaration(node) || is.isInterfaceDeclaration(node))
      return [{name: node.name.text, node, isExported: isExported(node), isType: true}]
    if ((is.isFunctionDeclaration(node) || is.isClassDeclaration(node)) && node.name)
      return [{name: node.name.text, node, isExported: isExported(node), isType: false}]
    if (!is.isVariableStatement(node)) return []
    return node.declarationList.declarations.flatMap(({name}) =>
      is.isIdentifier(name) ? [{name: name.text, node, isExported: isExported(node), isType: false}] : [],
    )
  })

/** Finds file names and exported names that contain a banned word, and types with a banned name. */
export const findBannedNames = (source: Source): Finding[] => {
  const {path} = source
  const inPath = findBanned(path).map(word => ({path, says: `the file name contains "${word}"`}))
  const inNames = declarationsOf(source).flatMap(({name, isExported, isType}) => [
    ...(isExported ? findBanned(name).map(word => ({path, says: `${name} contains "${word}"`})) : []),
    ...(isType && bannedTypes.has(name) ? [{path, says: `the type ${name} names no role`}] : []),
  ])
  return [...inPath, ...inNames]
}

const folders = ['workers/', 'sql/', 'shared/', 'api/']

/** Finds exported type names that two files of the four source folders declare. The clients are separate programs and do not count. */
export const findSharedTypeNames = (sources: Source[]): Finding[] => {
  const declared = Map.groupBy(
    sources
      .filter(({path}) => folders.some(folder => path.startsWith(folder)) && !path.startsWith('api/clients/'))
      .flatMap(source =>
        declarationsOf(source).flatMap(({name, isExported, isType}) => (isExported && isType ? [{name, path: source.path}] : [])),
      ),
    ({name}) => name,
  )
  return [...declared].flatMap(([name, places]) => {
    const [first, ...others] = places.map(({path}) => path)
    return others.filter(path => path !== first).map(path => ({path, says: `the type ${name} is declared in ${first} too`}))
  })
}

const commentPronouns = /\b(whoever|nobody|somebody)\b/i

/** Finds comments with a pronoun that names no subject. */
export const findPronounComments = ({path, tree}: Source): Finding[] => {
  const findings: Finding[] = []
  const {text} = tree
  for (const {index, 0: comment} of text.matchAll(/(?<=^|\s)\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g)) {
    const [word] = comment.match(commentPronouns) ?? []
    if (word) findings.push({path, says: `the comment at line ${text.slice(0, index).split('\n').length} says "${word}"`})
  }
  return findings
}

/** Finds object and array literals that are spread into another literal or a call. Such a spread only puts several values on one line. */
export const findPackedLiterals = ({path, nodes}: Source): Finding[] =>
  nodes.flatMap(node => {
    if (!is.isSpreadElement(node) && !is.isSpreadAssignment(node)) return []
    const {expression} = node
    if (!is.isObjectLiteralExpression(expression) && !is.isArrayLiteralExpression(expression)) return []
    return [{path, says: `${node.getText().slice(0, 60)} is a packed literal`}]
  })
