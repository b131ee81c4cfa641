import {t} from '../text/shell.ts'
import {client} from './session.ts'
import {settings} from './settings.ts'

type PopUpMessage = {connectorId?: string; missingScopes?: string[]}

/**
 * Opens the CRM's sign-in in a pop-up, and returns the message that the pop-up posts to our origin before it closes. If the browser blocks the
 * pop-up, a sign-in continues in this tab. A blocked connection, or a blocked sign-in of an embedded page, is an error.
 */
const askInPopUp = (address: string | Promise<string>, type: 'lading:signed-in' | 'lading:connected'): Promise<PopUpMessage> => {
  // The pop-up opens while the click event is handled, because browsers block pop-ups that open later.
  const popUp = window.open('about:blank', 'lading-sign-in', 'popup,width=520,height=680')
  if (!popUp && typeof address === 'string' && !settings.embed) {
    location.assign(address)
    return new Promise(() => {})
  }
  if (!popUp) return Promise.reject(new Error(t.popUpBlocked))
  const {promise, resolve, reject} = Promise.withResolvers<PopUpMessage>()
  const hear = (event: MessageEvent) => {
    if (event.source === popUp && event.origin === location.origin && event.data?.type === type) resolve(event.data)
  }
  const look = setInterval(() => {
    // The message may arrive shortly after the pop-up closes.
    if (popUp.closed) setTimeout(() => reject(new Error(t.popUpClosed)), 500)
  }, 300)
  addEventListener('message', hear)
  Promise.resolve(address).then(url => popUp.location.replace(url), reject)
  return promise.finally(() => {
    clearInterval(look)
    removeEventListener('message', hear)
    popUp.close()
  })
}

/**
 * Signs in by pop-up. A cookie then keeps the session. With `connects`, the consent of an admin also makes the org's first connection. Returns
 * the scopes that the person did not grant.
 */
export const askForSession = async (dc: string, {connects}: {connects: boolean}): Promise<string[]> => {
  const query = new URLSearchParams({dc, return: location.origin, session: 'cookie', connect: String(connects)})
  const {missingScopes} = await askInPopUp(`/auth/zoho/start?${query}`, 'lading:signed-in')
  return missingScopes ?? []
}

/** Connects the org to a CRM account in a pop-up. Returns the connection id. */
export const askForConnection = async (org: string, {dc, name}: {dc: string; name: string}): Promise<string> => {
  const begun = client.post(`/auth/orgs/${org}/connect`, {dc, name, return: location.origin})
  const {connectorId} = await askInPopUp(
    begun.then(({url}) => url as string),
    'lading:connected',
  )
  return connectorId!
}
