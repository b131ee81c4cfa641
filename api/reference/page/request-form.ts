import {inText} from '../../html.ts'
import type {LocatedOperation} from './operation.ts'

/**
 * Returns a form that sends a GET request with the session of this browser. Empty for other methods, for operations that a session may not use,
 * and for answers that are not JSON.
 */
export const showRequestForm = ({method, path, operation}: LocatedOperation): string => {
  const {operationId: id, security, parameters = [], responses} = operation
  const isOpen = security.length === 0 || security.some(scheme => 'session' in scheme)
  if (method !== 'get' || !isOpen || !responses['200']?.content?.['application/json']) return ''
  const fields = parameters
    .filter(({in: place}) => place !== 'header')
    .map(({in: place, name, required}) => {
      const need = place === 'path' || required ? ' required' : ''
      return `<label><code>${inText(name)}</code> <input name="${inText(name)}" data-in="${place}" autocomplete="off" spellcheck="false"${need}></label>`
    })
  return `<details class="try"><summary>Try it</summary>
<p>Sends the request with your session in this browser. It changes nothing.</p>
<form data-path="${inText(path)}" aria-label="Try ${inText(id)}">${fields.join('')}<button type="submit">Send request</button></form>
<p role="status"></p><pre tabindex="0" role="group" aria-label="The response of ${inText(id)}" hidden><code></code></pre></details>`
}
