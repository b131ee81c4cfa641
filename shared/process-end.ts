/** The abort reason for requests whose connection this process closes when it ends. Any other abort means that the client left. */
export const processEnd = new DOMException('This process is ending', 'AbortError')
