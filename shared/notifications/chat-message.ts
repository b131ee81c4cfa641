import type {Body} from './compose.ts'
import {countsOf, detailsOf, pagesOf, sentenceOf, wordsOf} from './notice-text.ts'

// Limits on the parts of a message. Lengths are in characters as they are sent. The limits keep every message within the limits of both
// products. Slack: 3,000 characters a section, 2,000 a field, ten fields a section (docs.slack.dev/reference/block-kit/blocks/section-block).
// Teams: 28 KB a message (learn.microsoft.com/connectors/teams).
const maxSentenceLength = 1_000
const maxFactLength = 500
const maxFacts = 10

type Fact = [name: string, value: string]
type NoticeSummary = {sentence: string; facts: Fact[]; links: [name: string, url: string][]}

/** The message contains a sentence, the time, the links, and the first nine other values. */
export const chatMessageOf = (kind: 'slack' | 'teams', body: Body, publicUrl: string): object => {
  const links = pagesOf(body, publicUrl)
  const linked = new Set(links.map(([name]) => name))
  const details = detailsOf(body.data).filter(([name]) => !linked.has(name))
  const counts = countsOf(body.data).map((line): Fact => ['Rows', line])
  const others = details.map(([name, value]): Fact => [wordsOf(name), value])
  const facts = [...counts, ...others].slice(0, maxFacts - 1)
  const summary = {sentence: `${sentenceOf(body)}.`, facts: [...facts, ['When', body.timestamp] as Fact], links}
  return kind === 'slack' ? slackMessageOf(summary) : teamsMessageOf(summary)
}

/**
 * Returns the message for an incoming webhook of Slack (docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). All texts but the links
 * are plain text without emoji codes. Slack reads mentions and links, such as `<!channel>`, between angle brackets, so angle brackets are escaped
 * (docs.slack.dev/messaging/formatting-message-text).
 */
const slackMessageOf = ({sentence, facts, links}: NoticeSummary) => {
  const plain = (text: string, most: number) => ({type: 'plain_text', emoji: false, text: fitText(text, most, escapeSlack)})
  const linkLine = links.map(([name, url]) => `<${escapeSlack(encodeURI(url))}|${escapeSlack(wordsOf(name))}>`).join('  ·  ')
  return {
    text: fitText(sentence, maxSentenceLength, escapeSlack),
    mrkdwn: false,
    unfurl_links: false,
    blocks: [
      {type: 'section', text: plain(sentence, maxSentenceLength)},
      {type: 'section', fields: facts.map(([name, value]) => plain(`${name}: ${value}`, maxFactLength))},
      ...(links.length > 0 ? [{type: 'section', text: {type: 'mrkdwn', verbatim: true, text: linkLine}}] : []),
    ],
  }
}

const escapeSlack = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/**
 * Returns an Adaptive Card for the trigger "When a Teams webhook request is received" of the Workflows app
 * (learn.microsoft.com/connectors/teams). Texts are text runs, in which Markdown has no meaning
 * (learn.microsoft.com/adaptive-cards/schema-explorer/text-run). A card mentions a person only if it lists entities, and this card lists none.
 */
const teamsMessageOf = ({sentence, facts, links}: NoticeSummary) => {
  const run = (text: string, most: number, isBold = false) => ({
    type: 'TextRun',
    text: fitText(text, most, neutralizeTemplates),
    ...(isBold && {weight: 'Bolder'}),
  })
  const line = (...inlines: object[]) => ({type: 'RichTextBlock', inlines})
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [line(run(sentence, maxSentenceLength, true)), ...facts.map(([name, value]) => line(run(`${name}: ${value}`, maxFactLength)))],
    actions: links.map(([name, url]) => ({type: 'Action.OpenUrl', title: wordsOf(name), url})),
  }
  return {type: 'message', attachments: [{contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content}]}
}

/** Adds a zero-width space after each `{`, because a card would evaluate `{{DATE(…)}}`. */
const neutralizeTemplates = (text: string) => text.replaceAll('{', '{\u200b')

/**
 * Escapes a text and cuts it to `most` characters, without cutting an escaped character. Line breaks and control characters become spaces, so
 * that a value stays in its line.
 */
const fitText = (text: string, most: number, escapeText: (text: string) => string): string => {
  const clean = text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
  const whole = escapeText(clean)
  if (whole.length <= most) return whole
  let cut = ''
  for (const character of clean) {
    const piece = escapeText(character)
    if (cut.length + piece.length >= most) break
    cut += piece
  }
  return `${cut}…`
}
