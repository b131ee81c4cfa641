import {inText} from '../../html.ts'

/** Renders the Markdown that descriptions use: paragraphs, lists with `-`, and code in backticks. */
export const markdown = (text: string): string =>
  text
    .split(/\n{2,}/)
    .map(block => (isList(block) ? listOf(block) : `<p>${inLine(block)}</p>`))
    .join('')

export const inLine = (text: string): string =>
  text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? `<code>${inText(part)}</code>` : inText(part)))
    .join('')

const isList = (block: string) => block.split('\n').every(line => /^(- | )/.test(line))

const listOf = (block: string) =>
  `<ul>${block
    .split(/\n(?=- )/)
    .map(item => `<li>${inLine(item.slice(2))}</li>`)
    .join('')}</ul>`
