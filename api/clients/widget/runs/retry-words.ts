import {type Group, missingTagsOf} from '../../run-reasons.ts'
import {t} from '../text/decide.ts'
import type {Run} from './run.ts'
import {emptyLinksOf, leftOf} from './tally.ts'

/** What a retry would do: the numbers of rows to write, of empty links to fill, and of records without their tags. */
export type OpenParts = {left: number; links: number; tags: number}

export const openOf = (run: Run, groups: readonly Group[]): OpenParts => ({
  left: leftOf(run),
  links: emptyLinksOf(run),
  tags: missingTagsOf(groups),
})

/** Returns the texts of the button that offers a retry, and of its confirmation. A stopped run can be retried even if all numbers are 0. */
export const sayRetry = ({left, links, tags}: OpenParts) => {
  const rows = left > 0 && t.thisCreatesAndUpdatesRecordsInThe(left)
  const filled = links > 0 && t.itFillsUpToLinksOfRows(links)
  const tagged = tags > 0 && t.itAddsTheTagsToRecords(tags)
  const others = links + tags > 0 ? t.nothingElseOfTheRowsAlreadyWritten : t.rowsAlreadyWrittenDoNotChange
  const effect = [rows, filled, tagged, others].filter(Boolean).join(' ')
  if (left > 0)
    return {
      button: t.retryRows(left),
      title: t.retryTheRemainingRows,
      action: t.writeUpToRows(left),
      effect,
    }
  if (links > 0) return {button: t.fillLinks(links), title: t.fillTheEmptyLinks, action: t.fillUpToLinks(links), effect}
  const button = tags > 0 ? t.tagRecords(tags) : t.retryTheRun
  return {button, title: tags > 0 ? t.addTheMissingTags : t.retryTheStoppedRun, action: button, effect}
}
