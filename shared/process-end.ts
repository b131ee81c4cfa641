/** The reason of a signal that aborts because this process closes its connections when it ends, not because the client left. */
export const processEnd = new DOMException('This process is ending', 'AbortError')
