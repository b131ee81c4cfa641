const filter = document.getElementById('filter')
const found = document.getElementById('found')
const menu = document.querySelector('.menu')
const groups = [...document.querySelectorAll('.group')]
const wereOpen = new Map(groups.map(group => [group, group.open]))

const narrow = () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
  let count = 0
  for (const group of groups) {
    let any = false
    for (const item of group.querySelectorAll('li')) {
      const fits = words.every(word => item.dataset.words.includes(word))
      item.hidden = !fits
      any ||= fits
      if (fits) count++
    }
    group.hidden = !any
    group.open = words.length ? any : wereOpen.get(group)
  }
  found.textContent = words.length ? `${count} found` : ''
}
filter.addEventListener('input', narrow)
filter.addEventListener('keydown', event => {
  if (event.key === 'Escape') {
    filter.value = ''
    narrow()
  }
})

/** Focuses the filter when the person presses `/`. */
document.addEventListener('keydown', event => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return
  event.preventDefault()
  menu.open = true
  filter.focus()
})

for (const button of document.querySelectorAll('.copy')) {
  button.hidden = !navigator.clipboard
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent)
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1500)
  })
}

/** Returns the address of a form's request: its path and the query parameters that are filled in. */
const addressOf = form => {
  const query = new URLSearchParams()
  let path = form.dataset.path
  for (const {name, value, dataset} of form.querySelectorAll('input')) {
    if (dataset.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value.trim()))
    else if (value !== '') query.append(name, value)
  }
  return query.size ? `${path}?${query}` : path
}

/** Sends a GET request with the session cookie. The server accepts the cookie only with this header. */
const send = address => fetch(address, {headers: {accept: 'application/json', 'x-lading-csrf': '1'}, credentials: 'same-origin'})

const sendForm = async form => {
  const status = form.parentElement.querySelector('[role="status"]')
  const shown = form.parentElement.querySelector('pre')
  status.textContent = 'Sending …'
  shown.hidden = true
  try {
    const response = await send(addressOf(form))
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    shown.firstElementChild.textContent = isJson ? JSON.stringify(JSON.parse(text), null, 2) : text
    shown.hidden = false
    status.textContent = response.status === 401 ? '401: sign in to the app in this browser first' : `Status ${response.status}`
  } catch {
    status.textContent = 'The server did not respond'
  }
}

for (const form of document.querySelectorAll('.try form')) {
  form.addEventListener('submit', event => {
    event.preventDefault()
    sendForm(form)
  })
  form.parentElement.addEventListener('toggle', async () => {
    const org = form.querySelector('input[name="org"]')
    if (!org || org.value) return
    const response = await send('/auth/me').catch(() => null)
    if (response?.ok) org.value ||= (await response.json()).org?.id ?? ''
  })
}

/** Expands a named schema in place with a copy of its section. */
document.addEventListener(
  'toggle',
  ({target}) => {
    if (!target.classList.contains('named') || !target.open || target.dataset.filled) return
    target.dataset.filled = 'yes'
    for (const see of target.querySelectorAll(':scope > .see')) {
      const shown = document.getElementById(see.firstElementChild.hash.slice(1))
      for (const tree of shown?.querySelectorAll(':scope > .tree') ?? []) {
        const copy = tree.cloneNode(true)
        for (const opened of copy.querySelectorAll('[open], [data-filled]')) {
          opened.open = false
          delete opened.dataset.filled
        }
        see.after(copy)
      }
    }
  },
  true,
)

/** Follows the hash of the URL: opens its target on this page, or goes to the page that has it. */
const follow = () => {
  const name = decodeURIComponent(location.hash.slice(1))
  if (!name) return
  const here = document.getElementById(name)
  if (!here) {
    const link = [...document.querySelectorAll('nav a')].find(({hash}) => hash === location.hash)
    if (link) location.replace(link.href)
    return
  }
  for (let at = here; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === location.hash) link.setAttribute('aria-current', 'location')
    else link.removeAttribute('aria-current')
  }
  here.scrollIntoView()
}
addEventListener('hashchange', follow)

const isPhone = matchMedia('(max-width: 50rem)')
menu.open = !isPhone.matches
isPhone.addEventListener('change', ({matches}) => {
  menu.open = !matches
})
for (const link of menu.querySelectorAll('a'))
  link.addEventListener('click', () => {
    if (isPhone.matches) menu.open = false
  })
follow()
