import {OutboundFailure} from '../outbound/failure.ts'
import {hostOf} from '../outbound/hosts.ts'
import type {Outbound, OutboundAnswer} from '../outbound/outbound.ts'
import {SourceFailure} from './failure.ts'
import type {Bounds} from './fetch.ts'

/** A browser adds the domain of an organisation, or the number of a second account. A sheet that is published to the web has an id after `/e/`. */
const sheetAddress =
  /^https:\/\/docs\.google\.com\/(?:a\/[\w.-]{1,253}\/)?spreadsheets\/(?:u\/\d{1,3}\/)?d\/((?:e\/)?[\w-]{10,200})(?:[/?#]|$)/i

/**
 * Converts the link of a Google spreadsheet to the address of a CSV export. `gid` in the link names the sheet that is exported; without `gid`,
 * the first sheet is exported. Other addresses are returned unchanged, also the result itself, because a stored source is parsed again at each use.
 */
export const exportAddressOf = (url: string): string => {
  const [, id] = sheetAddress.exec(url) ?? []
  if (id === undefined || /\/(?:export|e\/[\w-]+\/pub)(?:[?#]|$)/.test(url)) return url
  const [, gid] = /[?&#]gid=(\d{1,20})/.exec(url) ?? []
  const sheet = gid === undefined ? '' : `&gid=${gid}`
  if (id.startsWith('e/')) return `https://docs.google.com/spreadsheets/d/${id}/pub?output=csv${sheet && `${sheet}&single=true`}`
  return `https://docs.google.com/spreadsheets/d/${id}/export?format=csv${sheet}`
}

export const isSheetExport = (url: URL): boolean =>
  url.hostname === 'docs.google.com' && /^\/spreadsheets\/d\/(?:[\w-]+\/export|e\/[\w-]+\/pub)$/.test(url.pathname)

/** The limit on redirects of one export. Google answers with one or two. */
const mostRedirects = 3

/**
 * Requests the export of a sheet, which Google answers with redirects to another host. Each target must pass the rules of the first address. No
 * credential is sent, because the sheet is shared by its link. A sheet that is not shared leads to the sign-in page.
 */
export const requestSheet = async (outbound: Outbound, url: URL, bounds: Bounds): Promise<OutboundAnswer> => {
  const until = performance.now() + bounds.timeoutSeconds * 1000
  let target = url
  for (let redirects = 0; ; redirects++) {
    try {
      const timeoutSeconds = Math.max(1, Math.ceil((until - performance.now()) / 1000))
      return await outbound.request(target.href, {headers: {'user-agent': 'Lading'}, ...bounds, timeoutSeconds})
    } catch (error) {
      if (!(error instanceof OutboundFailure) || error.code !== 'REDIRECTED' || error.location === null || redirects === mostRedirects)
        throw error
      target = new URL(error.location)
      if (hostOf(target) === 'accounts.google.com')
        throw new SourceFailure(
          'SIGN_IN_REFUSED',
          'The Google sheet is not shared by its link. Share it with everyone who has the link, as a viewer',
        )
    }
  }
}
