import type {Body} from './compose.ts'
import {countsOf, detailsOf, pageOf, pagesOf, sentenceOf, wordsOf} from './notice-text.ts'

type LetterInput = {orgName: string; body: Body; publicUrl: string}

/** Besides the org's name, the letter contains only the data of a delivery. */
export const writeLetter = ({orgName, body, publicUrl}: LetterInput): {subject: string; text: string} => {
  const {data, timestamp} = body
  const says = sentenceOf(body)
  const details = detailsOf(data).map(([name, value]) => `${wordsOf(name)}: ${value}`)
  const parts = [
    `${says}.`,
    [`Org: ${orgName.replaceAll(/\s+/g, ' ')}`, `When: ${timestamp}`, ...details].join('\n'),
    countsOf(data).join('\n'),
    pagesOf(body, publicUrl)
      .map(([name, link]) => `${wordsOf(name)}: ${link}`)
      .join('\n'),
    `You receive this e-mail because the notifications of this org or of the schedule list your address. To unsubscribe, ask an administrator of the org to remove it: ${pageOf(publicUrl, 'settings/notices')}`,
  ]
  return {subject: says, text: `${parts.filter(Boolean).join('\n\n')}\n`}
}
