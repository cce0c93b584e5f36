"""A browser of a user who says yes: follows the redirects of a URL with cookies, and prints where they end."""

import http.cookiejar
import sys
import urllib.error
import urllib.parse
import urllib.request


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


jar = http.cookiejar.CookieJar()
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar), NoRedirects)
url = sys.argv[1]
while True:
    try:
        opener.open(url)
    except urllib.error.HTTPError as answer:
        if answer.code in (302, 303):
            url = urllib.parse.urljoin(url, answer.headers["location"])
            continue
    except urllib.error.URLError:
        # Nobody listens there: the user pastes it.
        pass
    break
print(url)
