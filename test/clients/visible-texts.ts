import type {Node} from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import type {Source} from '../boundary-rules.ts'

export type VisibleText = {line: number; text: string}

/** Attributes of elements, and properties of components, that people see or hear. */
const visible = new Set([
  'title',
  'aria-label',
  'placeholder',
  'label',
  'hint',
  'alt',
  'head',
  'caption',
  'data-label',
  'lead',
  'action',
  'back',
  'text',
  'empty',
  'detail',
  'means',
  'message',
  'said',
  'todo',
  'word',
])
const word = /\p{L}{2,}/u
/** A sentence, or a label of several words. Class names, selectors and paths do not match. */
const phrase = /^\p{Lu}[\p{L}’'-]*[ ,:…]+[\p{L}{]|^\{\} \p{Ll}{4,}|^[ ,.·]*\p{Ll}+,? \p{Ll}+,? \p{Ll}+[ ,.]/u
/** Elements whose content is code, keys or a name. */
const verbatim = /<(code|kbd)\b[^>]*>[^<]*<\/\1>/g

/** Finds visible text in a file of the widget: text and visible attributes of templates, visible properties, and phrases. */
export const findVisibleTexts = ({tree, nodes}: Source): VisibleText[] => {
  const at = (node: Node, text: string): VisibleText => ({line: tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1, text})
  return nodes.flatMap((node): VisibleText[] => {
    if (is.isTaggedTemplateExpression(node) && node.tag.getText() === 'html')
      return textsOf(markupOf(node.template)).map(text => at(node, text))
    if (is.isStringLiteral(node) && isVisible(node, node.text)) return [at(node, node.text)]
    if (is.isTemplateExpression(node) && !isTagged(node) && phrase.test(markupOf(node))) return [at(node, markupOf(node))]
    return []
  })
}

/** Returns a template without its expressions. */
const markupOf = (template: Node): string => {
  if (is.isNoSubstitutionTemplateLiteral(template)) return template.text
  return is.isTemplateExpression(template)
    ? [template.head, ...template.templateSpans.map(({literal}) => literal)].map(({text}) => text).join('{}')
    : ''
}

const textsOf = (markup: string): string[] => {
  const plain = markup.replaceAll(verbatim, '')
  const attributes = [...plain.matchAll(/([\w-]+)="([^"]*)"/g)].filter(([, name, value]) => visible.has(name!) && word.test(value!))
  const texts = plain
    .replaceAll(/<[^>]*>/g, '\n')
    .replaceAll('{}', ' ')
    .split('\n')
    .map(text => text.replaceAll(/&\w+;/g, '').trim())
  return [...attributes.map(([, , value]) => value!), ...texts.filter(text => word.test(text) && !/=/.test(text))]
}

const isTagged = (node: Node) => node.parent !== undefined && is.isTaggedTemplateExpression(node.parent)

const isVisible = (node: Node, text: string): boolean => {
  const {parent} = node
  if (parent && (is.isImportDeclaration(parent) || is.isLiteralTypeNode(parent))) return false
  if (phrase.test(text)) return true
  return Boolean(
    parent && is.isPropertyAssignment(parent) && visible.has(parent.name.getText().replaceAll("'", '')) && /^\p{Lu}\p{Ll}/u.test(text),
  )
}
