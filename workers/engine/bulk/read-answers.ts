import {tmpdir} from 'node:os'
import {type BulkRowResult, readBulkResults} from '../../../shared/crm/bulk/bulk-results.ts'
import {CrmError, type RecordAnswer} from '../../../shared/crm/crm.ts'
import {unanswered} from '../../../shared/crm/outcome.ts'
import {openUnlinkedFile} from '../../../shared/files/unlinked-file.ts'
import type {Context} from '../context.ts'
import {callBulkUnlessRefused} from '../send/crm-retry.ts'

const mostDownloads = 3
/** More than for an upload, because without the result each row of the file counts as unanswered. */
const mostRejections = 6

/**
 * Downloads the result of a job and returns its rows by key. Returns null if the CRM refuses the download, or if the result is unreadable
 * three times.
 */
export const readResults = async (ctx: Context, url: string, keys: string[]): Promise<Map<string, BulkRowResult> | null> => {
  for (let tried = 1; ; tried++) {
    const file = await openUnlinkedFile(tmpdir())
    try {
      const receive = async (bytes: AsyncIterable<Uint8Array>) => {
        await file.truncate(0)
        let at = 0
        for await (const chunk of bytes) at += (await file.write(chunk, 0, chunk.length, at)).bytesWritten
        return at
      }
      const download = () => ctx.connection.bulkWrite!.download(url, receive, {signal: ctx.lease.lost}).then(() => true)
      if ((await callBulkUnlessRefused(ctx, download, mostRejections)) === null) return null
      const {size} = await file.stat()
      const storage = {
        size: async () => size,
        readRange: async (_: string, {start, end}: {start: number; end: number}) =>
          file.createReadStream({start, end: end - 1, autoClose: false}),
      }
      return await readBulkResults({storage, key: 'result.zip'}, keys)
    } catch (error) {
      if (!(error instanceof CrmError) || tried >= mostDownloads) {
        if (!(error instanceof CrmError)) throw error
        ctx.log.warn({err: error}, 'the result of a bulk job cannot be read')
        return null
      }
    } finally {
      await file.close()
    }
  }
}

/**
 * Returns the answer for one row. `unsent`: the result says that the CRM did not write the row. A record call then writes the row, or gets
 * the reason of a refusal. A row with no valid result is unanswered. `target`: the updated record; null for a create. The CRM names no time of
 * the write, so an updated record counts as modified at `endedAt`. The CRM's time of creation is known for a created record.
 */
export const answerOf = (target: string | null, result: BulkRowResult | undefined, endedAt: string | null): RecordAnswer | 'unsent' => {
  if (result?.status === 'skipped' || result?.status === 'unprocessed') return 'unsent'
  const isWritten = target === null ? result?.status === 'created' : result?.status === 'updated' && result.recordId === target
  if (result && isWritten) return {ok: true, recordId: result.recordId!, modifiedAt: target === null ? null : endedAt}
  return {ok: false, sent: true, crm: unanswered({status: null}), duplicateOf: null}
}
