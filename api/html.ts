import {randomBytes} from 'node:crypto'
import {type Reply, reply} from './reply.ts'

type Page = {status?: number; title: string; content: string; headers?: Record<string, string>; formAction?: string; connect?: string}

/**
 * Returns a self-contained HTML page that loads nothing and cannot be framed. A script in the content needs `nonce="NONCE"`. Without
 * `formAction` the page cannot submit a form. `connect` is the only source that its script may call.
 */
export const page = ({status = 200, title, content, headers = {}, formAction = "'none'", connect}: Page): Reply => {
  const nonce = randomBytes(16).toString('base64')
  const script = (content.includes('NONCE') ? `script-src 'nonce-${nonce}'; ` : '') + (connect ? `connect-src ${connect}; ` : '')
  return reply({
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; ${script}style-src 'nonce-${nonce}'; base-uri 'none'; form-action ${formAction}; frame-ancestors 'none'`,
      ...headers,
    },
    body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style nonce="NONCE">${STYLE}</style>
<main>
<h1>${title}</h1>
${content}
</main>
</html>
`.replaceAll('NONCE', nonce),
  })
}

const STYLE = `
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; line-height: 1.25 }
strong, code { overflow-wrap: anywhere }
label { display: block; font-weight: 600 }
select, button { font: inherit; padding: .6rem 1rem; border-radius: .4rem; border: 1px solid #8888 }
select { width: 100%; margin: .25rem 0 1.5rem }
button { cursor: pointer; margin-right: .5rem }
button.main { background: #14532d; border-color: #14532d; color: #fff }
button:focus-visible, select:focus-visible { outline: 3px solid #60a5fa; outline-offset: 2px }
`

/** Escapes text for element content and double-quoted attributes. It also escapes `NONCE`, so that text cannot obtain the nonce. */
export const inText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll('NONCE', 'N&#79;NCE')
