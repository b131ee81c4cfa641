import {client} from './session.ts'

/** The walk through the CRM's sign-in happens in a window of its own, which hands back one message at our origin and closes. */
const askInPopUp = (address: string | Promise<string>, type: 'lading:session' | 'lading:connected'): Promise<Record<string, string>> => {
  // Opened at once, in the click: a browser blocks what is opened later.
  const popUp = window.open('about:blank', 'lading-sign-in', 'popup,width=520,height=680')
  if (!popUp) return Promise.reject(new Error('Your browser has blocked the sign-in window: allow pop-ups for this site, and try again'))
  const {promise, resolve, reject} = Promise.withResolvers<Record<string, string>>()
  const hear = (event: MessageEvent) => {
    if (event.source === popUp && event.origin === location.origin && event.data?.type === type) resolve(event.data)
  }
  const look = setInterval(() => {
    // Its message may still be on its way as it closes.
    if (popUp.closed) setTimeout(() => reject(new Error('The sign-in window was closed before it was done')), 500)
  }, 300)
  addEventListener('message', hear)
  Promise.resolve(address).then(url => popUp.location.replace(url), reject)
  return promise.finally(() => {
    clearInterval(look)
    removeEventListener('message', hear)
    popUp.close()
  })
}

export const askForSession = async (dc: string): Promise<string> => {
  const query = new URLSearchParams({dc, return: location.origin})
  const {token} = await askInPopUp(`/auth/zoho/start?${query}`, 'lading:session')
  return token!
}

/** Connects an org to the CRM account the person then signs in to; answers the connection's id. */
export const askForConnection = async (org: string, {dc, name}: {dc: string; name: string}): Promise<string> => {
  const begun = client.post(`/auth/orgs/${org}/connect`, {dc, name, return: location.origin})
  const {connectorId} = await askInPopUp(
    begun.then(({url}) => url as string),
    'lading:connected',
  )
  return connectorId!
}
